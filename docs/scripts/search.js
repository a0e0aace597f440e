// A word that begins with "-" is left out of a search by its rules; who types --split looks for that option.
document.addEventListener(
  "input",
  (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement) || !field.matches(".md-search__input")) return;
    const words = field.value.replace(/(^|\s)-+/g, "$1");
    if (words !== field.value) field.value = words;
  },
  true,
);
