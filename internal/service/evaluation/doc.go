// Package evaluation measures memory skills on public data sets with the steps of production: builds extract memories
// with the configured models, search finds them, and a model answers from them. An evaluation is a run with a pinned
// manifest; all model calls are in the ledger, so an interrupted evaluation continues and pays no reply twice.
//
//	data, err := evaluation.Open(evaluation.LoCoMo, "locomo10.json")
//	made, err := evaluations.Accept(ctx, evaluation.Request{Data: data, Rows: []string{"static", "all"}, …})
//	progress, err := evaluations.Progress(ctx, made.Ref) // until progress.Result is set
//
// Each row of the table has a workspace of its own for every test conversation, so that its store and its search index
// hold nothing else. Scores of answers are the F1 of arXiv 2602.02474, the share of the answer's words and of the
// evidence that was read, and the success rate of tasks.
package evaluation
