// Where the position shown lies in a plot: a line per panel, and a veil over what is still to come. They lie over the
// plot as elements of their own, since drawing the plot again in every frame would be far too slow.

class Cursors {
  constructor(plot, layer) {
    this.plot = plot;
    this.layer = layer;
    this.panes = [];
    this.ring = make('b', 'lv-ring');
  }

  // After every drawing, zoom or change of size: where the panels lie now.
  renew() {
    const full = this.plot._fullLayout;
    const wanted = full?.meta?.cursors ?? [];
    const axis = (name) => full[name[0] + 'axis' + name.slice(1)];
    this.panes = wanted.map((cursor, index) => {
      const pane = this.layer.children[index] ?? this.layer.appendChild(make('div', 'lv-pane'));
      if (!pane.firstChild) pane.append(make('i'));
      const x = axis(cursor.x);
      const y = axis(cursor.y);
      Object.assign(pane.style, { left: x._offset + 'px', top: y._offset + 'px', width: x._length + 'px', height: y._length + 'px' });
      return { ...cursor, x, y, veil: pane.firstChild, at: null };
    });
    while (this.layer.children.length > wanted.length) this.layer.lastChild.remove();
    this.move();
  }

  move() {
    for (const pane of this.panes) {
      const value = position(pane);
      const at = value === null ? pane.x._length + 4 : Math.max(-4, Math.min(pane.x._length + 4, pane.x.l2p(value)));
      if (at === pane.at) continue;
      pane.at = at;
      pane.veil.style.transform = `translateX(${at}px)`;
    }
  }

  // Px from the plot's left edge to the first panel's line.
  get place() {
    const [pane] = this.panes;
    return pane ? pane.x._offset + Math.min(pane.at, pane.x._length) : 0;
  }

  // A ring around one point of the first panel.
  mark(x, y) {
    const [pane] = this.panes;
    if (!pane) return this.ring.remove();
    if (this.ring.parentNode !== this.layer.parentNode) this.layer.after(this.ring);
    const [left, top] = [pane.x.l2p(x), pane.y.l2p(y)];
    this.ring.hidden = left < 0 || top < 0 || left > pane.x._length || top > pane.y._length; // out of a part zoomed in
    this.ring.style.transform = `translate(${pane.x._offset + left}px, ${pane.y._offset + top}px)`;
  }
}

// Where on its axis a cursor stands; null once nothing is to come.
function position({ lane, unit }) {
  const shown = lanes.map(({ track }) => shownOf(track));
  if (lane === null) {
    if (player.at >= longest() - CLOSE) return null;
    if (unit === 'pass') return Math.max(0, ...shown);
    return player.clock === 'time' ? player.at : Math.max(0, ...lanes.map(({ track }, index) => track.secondsAt(shown[index])));
  }
  const track = lanes[lane]?.track;
  if (!track || shown[lane] >= track.rounds.length) return null;
  if (unit === 'seconds') return player.clock === 'time' ? player.at : track.secondsAt(shown[lane]);
  return shown[lane] + 0.5; // a pass is a column around its number
}
