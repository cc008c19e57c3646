// The login page: a password out, the chat or one sentence in.

const form = document.getElementById("login");
const password = document.getElementById("password");
const error = document.getElementById("error");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  const sentence = await logIn(password.value);
  button.disabled = false;
  if (!sentence) {
    // The owner's link leads here first, with its token behind the #.
    location.replace(location.hash.startsWith("#token=") ? `/owner?${location.hash.slice(1)}` : "/");
    return;
  }
  error.textContent = sentence;
  error.hidden = false;
  password.select();
});

async function logIn(given) {
  try {
    const response = await fetch("/login", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", "x-hermes-page": "1" },
      body: JSON.stringify({ given }),
    });
    return response.ok ? "" : (await response.json()).error;
  } catch {
    return "The gateway does not answer; is it running?";
  }
}
