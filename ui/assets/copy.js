export default function ({ data, parentElement }) {
  const message = parentElement.querySelector("p"), focused = document.activeElement;
  if (message.title === data) return;
  message.title = data;
  const select = () => {
    const field = document.createElement("textarea");
    field.value = data;
    parentElement.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    focused?.focus();
    const shown = (parentElement.host ?? parentElement).closest("[data-testid=stPopoverBody]")?.querySelector("code");
    if (!copied && shown) getSelection().selectAllChildren(shown);
    message.textContent = copied ? "Copied:" : "Press Ctrl+C to copy:";
  };
  if (!navigator.clipboard) return select();
  navigator.clipboard.writeText(data).then(() => { message.textContent = "Copied:" }, select);
}
