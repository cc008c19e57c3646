"""Runs the revisions in the connection and transaction that `gateway.storage.migrate` gives."""

from alembic import context

from gateway.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
