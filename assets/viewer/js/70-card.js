// The score-card: numbers of all decoders side by side.

let writtenCard = '';

function drawCard(card) {
  const node = find('.lv-card');
  node.hidden = !card;
  const text = JSON.stringify(card);
  if (!card || text === writtenCard) return;
  writtenCard = text;
  const numbers = table(['', ...card.columns], card.rows.map((row) => [row.label, ...row.values]));
  card.columns.forEach((_, index) => {
    numbers.tHead.rows[0].cells[index + 1].dataset.role = card.roles[index];
  });
  card.rows.forEach((row, index) => {
    if (row.better !== null) numbers.tBodies[0].rows[index].cells[row.better + 1].classList.add('better');
  });
  const scroll = make('div', 'lv-numbers');
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-label', 'Numbers of all decoders');
  scroll.append(numbers);
  const words = make('details');
  const list = make('dl');
  for (const [term, meaning] of card.definitions) list.append(make('dt', '', term), make('dd', '', meaning));
  words.append(make('summary', '', 'What the numbers mean'), list);
  const aside = make('aside');
  aside.append(...card.agreement.map((sentence) => make('p', 'lv-agree', sentence)), make('p', 'lv-remark', card.remark), words);
  node.style.setProperty('--columns', card.columns.length);
  node.classList.toggle('many', card.columns.length > 2);
  node.replaceChildren(make('h2', '', card.headline), scroll, aside);
}
