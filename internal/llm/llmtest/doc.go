// Package llmtest is a scripted OpenAI-compatible server: tests say what the
// model answers, to whom and how badly, and afterwards read what was asked.
//
//	srv := llmtest.New(t)
//	srv.On(llmtest.Rule{Stage: "extract", Nth: 1, Status: 503})
//	srv.On(llmtest.Rule{Stage: "extract", Reply: `{"name":"Rollback"}`})
//	model := llm.OpenAI(llm.Config{BaseURL: srv.URL})
//	…
//	if srv.Count("extract") != 2 { … }
//
// Calls are told apart by the X-Skill-* headers that llm.Label becomes, by the
// text of the last message and by how often they came; never by arrival order,
// since the real pipeline works in parallel. A request that no rule matches is
// answered with 599 and fails the test.
//
// Nothing needs a sleep: Barrier holds replies until Release, Await and
// AwaitBarrier return as soon as enough requests have come.
//
// Start gives the same server without a test. Other programs steer it through
// PUT /script, GET /requests, GET /paid and POST /barrier/{name}/release, below
// Root.
package llmtest
