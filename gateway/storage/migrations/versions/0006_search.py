"""What was said can be searched: the index, what waits to be indexed, and who took part in a session."""

import json
from collections import defaultdict

import sqlalchemy as sa
from alembic import op

revision = "0006_search"
down_revision = "0005_compressions"

# Without a copy of the text; the tokenizer only splits at spaces, since the terms are made by gateway.storage.text.
SQLITE = (
    "CREATE VIRTUAL TABLE message_words USING fts5"
    " (words, letters, scope, content='', columnsize=0, prefix='2 3', tokenize='ascii')",
    "CREATE TRIGGER messages_said AFTER INSERT ON messages BEGIN INSERT INTO unindexed (message) VALUES (new.id); END",
)
POSTGRES = (
    "CREATE TABLE message_words ("
    " message BIGINT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,"
    " part INTEGER NOT NULL,"
    " words TSVECTOR NOT NULL,"
    " PRIMARY KEY (message, part))",
    # It is written in batches already; a list of what is still to be sorted in would have to be read by each search.
    "CREATE INDEX message_words_words ON message_words USING gin (words) WITH (fastupdate = off)",
    "CREATE FUNCTION messages_said() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN INSERT INTO unindexed (message) VALUES (new.id); RETURN NULL; END $$",
    "CREATE TRIGGER messages_said AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION messages_said()",
)


def upgrade() -> None:
    """Make the tables, and let what was said so far wait for its turn: to index it may take minutes."""
    op.add_column("sessions", sa.Column("scope", sa.BigInteger(), server_default="0", nullable=False))
    op.create_table(
        "participants",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", "account"),
        comment="who spoke in a session that is nobody's alone",
    )
    op.create_index("participants_account", "participants", ["account"], unique=False)
    op.create_table(
        "unindexed",
        sa.Column("message", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(["message"], ["messages.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("message"),
        comment="messages that the search does not know yet; a trigger puts in every new one",
    )
    op.create_index("view_rows_message", "view_rows", ["message"], unique=False)
    for statement in POSTGRES if op.get_bind().dialect.name == "postgresql" else SQLITE:
        op.execute(statement)
    op.execute("INSERT INTO unindexed (message) SELECT id FROM messages")
    _note_who_spoke(op.get_bind())


def _note_who_spoke(connection: sa.Connection) -> None:
    """
    Note who spoke in the shared sessions there are, by what is left of their events; later each turn notes it.

    An account that nobody has is of somebody who was forgotten, unless the schema is so old that it knows no people.
    """
    known = set(connection.execute(sa.text("SELECT account FROM identities")).scalars())
    said: dict[tuple[str, str], set[str]] = defaultdict(set)
    query = (
        "SELECT DISTINCT s.lane, m.turn, s.id FROM messages m JOIN sessions s ON s.id = m.session_id"
        " WHERE s.person = '' AND m.turn <> ''"
    )
    for lane, turn, session in connection.execute(sa.text(query)):
        said[lane, turn].add(session)
    noted: set[tuple[str, str]] = set()
    for lane, turn, packed in connection.execute(
        sa.text("SELECT lane, turn, event FROM inbox WHERE turn <> '' AND NOT command")
    ):
        if sessions := said.get((lane, turn)):
            event = json.loads(packed)
            account = f"{event['origin']['platform']}:{event['sender']['id']}"
            if account in known or not known:
                noted |= {(session, account) for session in sessions}
    if noted:
        insert = sa.text("INSERT INTO participants (session_id, account) VALUES (:session, :account)")
        connection.execute(insert, [{"session": session, "account": account} for session, account in sorted(noted)])
