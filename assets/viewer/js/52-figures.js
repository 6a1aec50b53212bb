// All figures, in the order of the state. A plot is drawn when its card comes near the window.

const cards = new Map();

const nearby = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    const card = cards.get(target.dataset.figure);
    if (card) card.near = isIntersecting;
    card?.move();
  }
  drawFigures();
}, { rootMargin: '300px 0px' });

// One plot after the other, with a breath between them for the lanes.
let drawing = false;
async function drawFigures() {
  if (drawing) return;
  drawing = true;
  for (let card; (card = [...cards.values()].find((each) => each.near && each.stale)); ) {
    await card.draw().catch((error) => card.fail(error));
    await new Promise((done) => setTimeout(done));
  }
  drawing = false;
}

function readFigures(figures) {
  // a figure that is missing now may be back with the next state: its card waits unseen
  for (const [name, card] of cards) card.node.hidden = !(name in figures);
  const place = find('.lv-figures');
  Object.entries(figures).forEach(([name, text], index) => {
    if (!cards.has(name)) cards.set(name, new FigureCard(name));
    const card = cards.get(name);
    if (place.children[index] !== card.node) place.insertBefore(card.node, place.children[index] ?? null);
    card.read(text);
  });
  layOut([...place.children].filter((node) => !node.hidden));
  drawFigures();
}

// Two small figures share a line; trees and the filling order, and a small one left over, have theirs alone.
function layOut(nodes) {
  let open = null;
  for (const node of nodes) {
    const wide = /^(tree|filling)/.test(node.dataset.figure);
    node.classList.toggle('wide', wide);
    if (wide && open) open.classList.add('wide');
    open = wide || open ? null : node;
  }
  open?.classList.add('wide');
}

function restyle() {
  look += 1;
  drawFigures();
  refresh();
}
new MutationObserver(restyle).observe(document.body, { attributes: true, attributeFilter: ['class'] });
let widthBefore = root.clientWidth;
new ResizeObserver(() => {
  if (root.clientWidth === widthBefore) return;
  widthBefore = root.clientWidth;
  restyle();
}).observe(root);
