// How search orders what it has found: Sphinx's own scores, but pages for users before those of the project.
var Scorer = {
  score: ([page, , , , score]) => (/^(decisions\/|changelog|where-to-change|architecture|contributing)/.test(page) ? score - 12 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
