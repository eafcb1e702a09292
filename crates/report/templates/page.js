// The page works without this: it sorts and filters the list, and opens what a link leads to.
(() => {
  const table = document.getElementById("kernels"), body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, at) => {
    const text = row.cells[at].textContent, number = parseFloat(text);
    return heads[at].className === "r" ? (isNaN(number) ? -1 : number) : text.toLowerCase();
  };
  const sort = (at, down) => {
    const order = (a, b) => { const x = value(a, at), y = value(b, at); return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); };
    body.append(...[...body.rows].sort(order));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== at ? "none" : down ? "descending" : "ascending"));
  };
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.onclick = () => {
      const was = head.getAttribute("aria-sort");
      sort(at, was === "descending" ? false : was === "ascending" ? true : head.className === "r");
    };
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
  });
  if (body.rows.length > 8) {
    const field = document.createElement("input");
    field.type = "search";
    field.placeholder = "filter";
    field.setAttribute("aria-label", "Show only kernels with these letters in a column");
    field.oninput = () => {
      const wanted = field.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    };
    document.getElementById("list").after(field);
  }
  // Down a timeline later cycles are wanted: the picture follows.
  for (const box of document.querySelectorAll(".timeline")) {
    let top = 0;
    box.addEventListener("scroll", () => {
      if (box.scrollTop === top) return;
      top = box.scrollTop;
      box.scrollLeft = top / (box.scrollHeight - box.clientHeight) * (box.scrollWidth - box.clientWidth);
    });
  }
  const follow = () => {
    const hash = location.hash.slice(1), column = /^sort=(\d+)(-?)$/.exec(hash);
    if (column && heads[column[1]]) sort(+column[1], column[2] === "-");
    const target = document.getElementById(hash), around = target && target.closest("details");
    if (around) { around.open = true; around.scrollIntoView(); }
  };
  addEventListener("hashchange", follow);
  follow();
  document.body.dataset.ready = "yes";
})();
