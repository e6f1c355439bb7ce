// The order of search results: options and functions by name first, then guides, then pages for contributors.
var Scorer = {
  score: ([page, , , , score]) => {
    if (/^(decisions\/|changelog|where-to-change|architecture|contributing|style|releasing)/.test(page)) return score - 40;
    if (/^(benchmarks|project|formats)/.test(page)) return score - 20;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
