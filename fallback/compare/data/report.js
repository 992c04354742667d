"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const chosen = (id) => document.getElementById(id).value;
  const PAGE = 50;
  let page = PAGE;

  // Whatever a model wrote becomes a text node; nothing here is ever read as markup.
  function element(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function block(parent, title, text) {
    parent.append(element("h4", title), element("pre", text));
  }

  function reply(step) {
    const shown = element("pre");
    for (const [kind, text, note] of step.pieces) {
      const piece = element("span", text, kind);
      if (note) piece.title = note;
      shown.append(piece);
    }
    if (!step.pieces.length) shown.append(element("span", "(nothing)", "dropped"));
    return shown;
  }

  function body(failure) {
    const made = element("div");
    for (const fault of failure.faults) made.append(element("p", fault, "fault"));
    for (const [role, text] of failure.prompt) block(made, `prompt: ${role}`, data.texts[text]);
    if (failure.tools !== null) block(made, "tools", data.texts[failure.tools]);
    failure.steps.forEach((step, index) => {
      made.append(element("h4", `reply ${index + 1} (${step.path}, calls from: ${step.source})`));
      if (step.reasoning) made.append(element("pre", step.reasoning, "reasoning"));
      made.append(reply(step));
      if (step.notes.length) made.append(element("p", step.notes.join("; ")));
      for (const result of step.results) {
        block(made, `result of ${result.name} (${result.status})`, result.text);
      }
    });
    block(made, "expected", data.texts[failure.expected]);
    block(made, "got", failure.got);
    block(made, `answer (${failure.stop})`, failure.answer);
    return made;
  }

  function entry(failure) {
    const made = element("details");
    const where = [failure.model, failure.way, failure.suite, failure.case];
    made.append(element("summary", `${where.join(" · ")}: ${data.texts[failure.question]}`));
    made.addEventListener("toggle", () => {
      if (made.open && made.childElementCount === 1) made.append(body(failure));
    });
    return made;
  }

  function showFailures() {
    const found = data.failures.filter((failure) =>
      (!chosen("model") || failure.model === chosen("model")) &&
      (!chosen("way") || failure.way === chosen("way")) &&
      (!chosen("stage") || failure.stages.includes(chosen("stage"))));
    document.getElementById("list").replaceChildren(...found.slice(0, page).map(entry));
    document.getElementById("count").textContent = `${found.length} of them match the filters.`;
    document.getElementById("older").hidden = found.length <= page;
  }

  function showTables() {
    const model = chosen("model"), way = chosen("way"), stage = chosen("stage");
    for (const section of document.querySelectorAll("section[data-model]")) {
      section.hidden = Boolean(model) && section.dataset.model !== model;
    }
    for (const row of document.querySelectorAll("tr[data-way]")) {
      row.hidden = Boolean(way) && row.dataset.way !== way;
    }
    for (const cell of document.querySelectorAll("table [data-stage]")) {
      cell.hidden = Boolean(stage) && cell.dataset.stage !== stage;
    }
    for (const line of document.querySelectorAll(".verdicts li")) {
      const about = JSON.parse(line.dataset.ways);
      line.hidden = line.dataset.stage !== (stage || "right") || (Boolean(way) && !about.includes(way));
    }
  }

  const places = document.querySelectorAll(".chart");
  let shown = null, views = [], drawing = Promise.resolve();

  // The chart with the data that the filters leave; a chart that has no stages keeps all of it.
  function filtered(spec, way, stage) {
    const left = (value) =>
      (!way || value.way === way) && (!stage || !("stage" in value) || value.stage === stage);
    const datasets = Object.entries(spec.datasets).map(([name, values]) => [name, values.filter(left)]);
    return { ...spec, datasets: Object.fromEntries(datasets) };
  }

  async function draw(way, stage) {
    views.forEach((view) => view.finalize());
    views = await Promise.all(data.charts.map((chart, index) => window.vegaEmbed(
      places[index], filtered(chart.spec, way, stage), { actions: false, renderer: "svg", ast: true })));
  }

  function showCharts() {
    const way = chosen("way");
    const stage = chosen("stage") && document.getElementById("stage").selectedOptions[0].text;
    const wanted = JSON.stringify([way, stage]);
    if (wanted === shown) return;
    shown = wanted;
    delete document.body.dataset.charts;
    drawing = drawing.then(() => draw(way, stage)).then(
      () => { if (wanted === shown) document.body.dataset.charts = "drawn"; },
      (error) => { document.body.dataset.charts = `failed: ${error}`; });
  }

  function refresh() {
    page = PAGE;
    showTables();
    showFailures();
    showCharts();
  }

  document.getElementById("filters").addEventListener("change", refresh);
  document.getElementById("older").addEventListener("click", () => { page += PAGE; showFailures(); });
  refresh();
})();
