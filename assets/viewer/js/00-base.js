// LoPA's viewer. It draws the state of lopa_core/view/state.py into the skeleton of viewer.html. The parts of this
// folder, joined in the order of their names, are the body of one `function (element, props, watch, trigger)`, which
// Gradio or a replay runs once. Texts of users and models enter the page by textContent only.

const root = element.querySelector('.lv');
const find = (selector, from = root) => from.querySelector(selector);
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const touch = matchMedia('(pointer: coarse)');

// Widths the style sheet asks about, as classes: `under-780` and so on.
const WIDTHS = [1080, 1000, 900, 780, 560];
function fit() {
  for (const width of WIDTHS) root.classList.toggle('under-' + width, root.clientWidth < width);
}
fit();
new ResizeObserver(fit).observe(root);

function make(tag, className = '', text = '') {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== '') node.textContent = text;
  return node;
}

function button(className, text, act) {
  const node = make('button', className, text);
  node.type = 'button';
  node.addEventListener('click', act);
  return node;
}

// Writes a text only where it differs: most frames change little.
function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function mark(node, name, value) {
  const text = String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

function table(head, rows) {
  const node = make('table');
  const top = node.createTHead().insertRow();
  for (const text of head) {
    const cell = make(text ? 'th' : 'td', '', text);
    if (text) cell.scope = 'col';
    top.append(cell);
  }
  const body = node.createTBody();
  for (const [first, ...rest] of rows) {
    const line = body.insertRow();
    const cell = make('th', '', first);
    cell.scope = 'row';
    line.append(cell, ...rest.map((text) => make('td', '', text)));
  }
  return node;
}

// Told to screen readers, the last of several quick changes only.
let saying = 0;
function say(text) {
  clearTimeout(saying);
  saying = setTimeout(() => put(find('.lv-said'), text), 600);
}
