// One tooltip for all tokens: on hover, and for the token that has the focus.

const tip = find('.lv-tip');
let told = null; // { tokens, slot, focus }

function showTip(tokens, slot, focus = false) {
  if (Number.isNaN(slot)) return;
  told = { tokens, slot, focus };
  const [kind, word, facts] = tokens.tell(slot);
  const list = make('dl');
  for (const [name, value] of facts) {
    const row = make('div');
    row.append(make('dt', '', name), make('dd', '', value));
    list.append(row);
  }
  tip.replaceChildren(make('b', '', word), make('i', '', kind), list);
  tip.hidden = false;
  const chip = tokens.chips[slot];
  if (focus) {
    // a plain span may not have a name, and its letters alone tell too little
    chip.setAttribute('role', 'img');
    chip.setAttribute('aria-label', [word, kind, ...facts.map((fact) => fact.join(' '))].join(', '));
  }
  place(chip);
}

// Beside a chip's first line, inside the window.
function place(chip) {
  const rect = chip.getClientRects()[0];
  if (!rect) return hideTip(true);
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = Math.max(8, Math.min(rect.left + rect.width / 2 - width / 2, document.documentElement.clientWidth - width - 8));
  const top = rect.top - height - 8 > 0 ? rect.top - height - 8 : rect.bottom + 8;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

function hideTip(focus = false) {
  if (!told || (told.focus && !focus)) return;
  const chip = told.tokens.chips[told.slot];
  chip.removeAttribute('role');
  chip.removeAttribute('aria-label');
  told = null;
  tip.hidden = true;
}

// After a change of position the token under the tip may be another.
function renewTip() {
  if (told) showTip(told.tokens, told.slot, told.focus);
}

// The focus itself may have scrolled the page, so the tip follows its token.
addEventListener('scroll', () => told && place(told.tokens.chips[told.slot]), { passive: true, capture: true });
