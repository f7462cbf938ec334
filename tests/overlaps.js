// Texts of the page that lie on one another, as it is shown now. Lines of running text are boxes; a text of a picture may
// be turned, so its box is turned too. Letters fill the middle three fifths of their line.
() => {
  const corners = (left, top, right, bottom) => [[left, top], [right, top], [right, bottom], [left, bottom]];
  const trimmed = (left, top, right, bottom) => {
    const trim = (bottom - top) / 5;
    return corners(left, top + trim, right, bottom - trim);
  };
  const ends = (numbers) => [Math.min(...numbers), Math.max(...numbers)];
  const boxes = [], drawn = new Set();
  const put = (owner, words, points) => {
    const [left, right] = ends(points.map((p) => p[0])), [top, bottom] = ends(points.map((p) => p[1]));
    boxes.push({ owner, words, points, left, right, top, bottom });
  };
  const picture = (text) => {
    if (drawn.has(text)) return;
    drawn.add(text);
    const own = text.getBBox(), turn = text.getScreenCTM();
    const at = ([x, y]) => { const p = new DOMPoint(x, y).matrixTransform(turn); return [p.x, p.y]; };
    if (own.width > 1) put(text, text.textContent, trimmed(own.x, own.y, own.x + own.width, own.y + own.height).map(at));
  };
  const running = (node) => {
    const frames = [], range = document.createRange();
    for (let one = node.parentElement; one; one = one.parentElement)
      if (getComputedStyle(one).overflow !== "visible") frames.push(one.getBoundingClientRect());
    range.selectNodeContents(node);
    for (const line of range.getClientRects()) {
      const left = Math.max(line.left, ...frames.map((f) => f.left)), right = Math.min(line.right, ...frames.map((f) => f.right));
      const top = Math.max(line.top, ...frames.map((f) => f.top)), bottom = Math.min(line.bottom, ...frames.map((f) => f.bottom));
      if (right - left > 3 && bottom - top > 4) put(node, node.data.trim(), trimmed(left + 1, top, right - 1, bottom));
    }
  };
  // What stays in view while the rest scrolls away under it lies over it on purpose.
  const pinned = (one) => one && (/sticky|fixed/.test(getComputedStyle(one).position) || pinned(one.parentElement));
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement;
    if (!node.data.trim() || pinned(parent) || parent.closest("script, style, title, select, #vg-tooltip-element")) continue;
    if (!parent.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const text = parent.closest("svg text");
    if (text) picture(text); else running(node);
  }
  // Two boxes are apart if a line along a side of one has them on different sides.
  const apart = (a, b) => [a, b].some((one) => one.points.some(([x, y], i) => {
    const [u, v] = one.points[(i + 1) % 4];
    const [[low, high], [least, most]] = [a, b].map((box) => ends(box.points.map((p) => p[0] * (v - y) + p[1] * (x - u))));
    return high <= least || most <= low;
  }));
  const faults = new Set();
  boxes.sort((a, b) => a.top - b.top).forEach((a, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom; j++) {
      const b = boxes[j];
      if (a.owner !== b.owner && a.left < b.right && b.left < a.right && !apart(a, b))
        faults.add(`${a.words.slice(0, 40)} | ${b.words.slice(0, 40)}`);
    }
  });
  return [boxes.length, [...faults]];
}
