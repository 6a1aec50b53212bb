// Below a tree: the branches of the pass shown as buttons, and the one chosen with its canvas and its facts.

class Panel {
  constructor(lane) {
    this.lane = lane;
    this.node = make('section', 'lv-panel');
    this.title = make('h3');
    this.row = make('div', 'lv-branches');
    this.row.setAttribute('role', 'group');
    this.row.addEventListener('click', (event) => {
      const chosen = event.target.closest('button');
      if (chosen) this.pick(Number(chosen.dataset.branch));
    });
    this.place = make('div', 'lv-canvas-place');
    this.unseen = make('p', 'lv-note', 'This trace did not record what this branch predicted.');
    this.facts = make('dl', 'lv-facts');
    this.ask = button('lv-whatif', 'What if it had won?', () => this.whatIf());
    this.why = make('p', 'lv-note');
    const aside = make('div', 'lv-branch-facts');
    aside.append((this.name = make('h4')), this.facts, this.ask, this.why);
    const detail = make('div', 'lv-branch-detail');
    const left = make('div');
    left.append(this.place, this.unseen);
    detail.append(left, aside);
    this.node.append(this.title, this.row, detail);
  }

  // Another lane may stand in this place: its canvas has other slots.
  tokens(track) {
    if (this.canvas?.track !== track) {
      this.canvas = new Tokens(track, 'Canvas of the branch chosen');
      this.place.replaceChildren(this.canvas.node);
      this.round = null;
    }
    return this.canvas;
  }

  // The round shown; before the first it is the one to come. A hidden card's lane may be gone.
  get index() {
    const lane = lanes[this.lane];
    return lane ? Math.max(0, shownOf(lane.track) - 1) : 0;
  }

  get point() {
    const { slot } = lanes[this.lane]?.track.rounds[this.index]?.branches[this.branch] ?? {};
    return [this.index + 1, slot === null ? 0 : this.branch + 1];
  }

  pick(branch) {
    this.branch = branch;
    this.round = this.index;
    this.draw();
    cards.get('tree-' + this.lane).follow();
  }

  show() {
    const track = lanes[this.lane]?.track;
    const round = track?.rounds[this.index];
    this.node.hidden = !round;
    if (!round) return;
    this.node.dataset.role = track.lane.role;
    this.tokens(track).node.style.setProperty('--rounds', Math.max(2, track.rounds.length));
    const begun = shownOf(track) > 0;
    const state = [this.index, begun, run, waiting, player.live].join();
    if (state === this.state) return;
    this.state = state;
    if (this.round !== this.index) {
      this.round = this.index;
      this.branch = round.winner;
    }
    const count = round.branches.length;
    put(this.title, `Pass ${this.index + 1}${begun ? '' : ', still to come'}: ${count === 1 ? `only ${branchName(round, 0) === 'anchor' ? 'the anchor' : 'one lookahead'}` : `${count} branches`}`);
    this.draw();
  }

  draw() {
    const { track } = lanes[this.lane];
    const round = track.rounds[this.round];
    this.drawButtons(track, round);
    const branch = round.branches[this.branch];
    const won = this.branch === round.winner;
    this.canvas.paint({
      n: this.round, round: this.round, name: branchName(round, this.branch), seen: branch.seen,
      tried: branch.slot ?? -1, token: branch.token, chance: branch.probability, more: branch.more, filled: won ? round.filled : [],
    });
    this.unseen.hidden = branch.seen !== null;
    this.drawFacts(track, round, branch, won);
    this.drawWhatIf(track.lane, won);
  }

  drawButtons(track, round) {
    const scores = round.branches.filter((each) => each.masks_left).map((each) => each.score);
    const low = Math.min(...scores);
    const high = Math.max(...scores);
    while (this.row.children.length > round.branches.length) this.row.lastChild.remove();
    anchorFirst(round).forEach((index, place) => {
      const branch = round.branches[index];
      const node = this.row.children[place] ?? this.row.appendChild(branchButton());
      mark(node, 'data-branch', index);
      const [name, token, score, verdict] = node.children;
      mark(node, 'aria-pressed', index === this.branch);
      node.classList.toggle('won', index === round.winner);
      put(name, branchName(round, index));
      put(token, branch.slot === null ? 'as it is' : triedTokens(branch).map((each) => track.words.alone(each).trim() || '␣').join(' '));
      put(score, scoreOf(branch, track.lane));
      put(verdict, index === round.winner ? '✓ won' : '');
      const share = branch.masks_left && high > low ? (branch.score - low) / (high - low) : 1;
      node.style.setProperty('--share', share.toFixed(3));
    });
  }

  drawFacts(track, round, branch, won) {
    const best = round.branches[round.winner];
    const spans = round.spans.filter((span) => span.rows.includes(this.branch));
    const device = spans.map((span) => `${track.lane.head.devices[span.device]}, ${(1000 * (span.end - span.start)).toFixed(1)} ms`);
    const forced = track.lane.forced.some(([index, chosen]) => index === this.round && chosen === round.winner);
    const filled = round.filled.length;
    const facts = [
      ['Tries', branch.slot === null ? 'nothing: the canvas as it was' : triedPlaces(branch).map(([slot, token]) => `${track.words.quoted(token)} in slot ${slot + 1}`).join(', ')],
      [branch.more.length ? 'Their probability' : 'Its probability', triedPlaces(branch).map(([, , chance]) => chance.toFixed(3)).join(', ')],
      [capital(track.lane.score[0]), scoreOf(branch, track.lane) + (won ? '' : `, the winner’s ${scoreOf(best, track.lane)}`)],
      ['Masks left', String(branch.masks_left)],
      ['Ran on', device.join('; ')],
      ['Outcome', won ? `won${forced ? ' because it was asked to' : ''}, and filled ${filled} ${filled === 1 ? 'slot' : 'slots'} at once` : forced ? 'lost, since another was asked to win' : 'lost'],
    ];
    put(this.name, branchName(round, this.branch));
    this.facts.replaceChildren(...facts.filter(([, value]) => value).map(([name, value]) => {
      const row = make('div');
      row.append(make('dt', '', name), make('dd', '', value));
      return row;
    }));
  }

  drawWhatIf(lane, won) {
    const { status, what_if: reason } = props.value;
    const why = reason || (status === 'running' ? 'A run is going on; ask again when it has ended.' : '');
    this.ask.hidden = won;
    this.ask.disabled = Boolean(why) || waiting;
    put(this.why, this.ask.hidden ? '' : why);
  }

  whatIf() {
    waiting = true;
    setTimeout(answered, 5000); // a page that refuses sends no state
    this.ask.disabled = true;
    trigger('whatif', { lane: this.lane, round: this.round, branch: this.branch });
  }
}

let waiting = false; // for the answer to a what-if

function answered() {
  waiting = false;
  refresh();
}

const scoreOf = (branch, lane) => (branch.masks_left ? branch.score.toFixed(lane.score[1]).replace('-', '−') : 'no mask left');
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const anchorFirst = (round) => [...round.branches.keys()].sort((a, b) => (round.branches[b].slot === null) - (round.branches[a].slot === null));

// [slot, token, probability] of all that a branch tries: none for the anchor, several for a draft.
function triedPlaces(branch) {
  return branch.slot === null ? [] : [[branch.slot, branch.token, branch.probability], ...branch.more];
}

// Its tokens in the order of the text, as many as a button has room for.
function triedTokens(branch) {
  return triedPlaces(branch).sort((a, b) => a[0] - b[0]).slice(0, 4).map(([, token]) => token);
}

function branchButton() {
  const node = make('button', 'lv-branch');
  node.type = 'button';
  node.append(make('span', 'name'), make('span', 'token'), make('span', 'score'), make('span', 'mark'));
  find('.token', node).dir = 'auto';
  return node;
}

// A node of the tree was clicked: its pass is shown, with that branch.
function pickBranch(lane, round, branch) {
  const { track } = lanes[lane];
  player.playing = false;
  seek(player.clock === 'pass' ? round + 1 : track.seconds[round]);
  drawPosition();
  cards.get('tree-' + lane).panel.pick(branch);
}
