// Package openaitest is a scripted OpenAI-compatible server: tests say what the
// model answers, to whom and how badly, and afterwards read what was asked.
//
//	srv := openaitest.New(t)
//	srv.On(openaitest.Rule{Stage: "extract", Nth: 1, Status: 503})
//	srv.On(openaitest.Rule{Stage: "extract", Reply: `{"name":"Rollback"}`})
//	model := openai.New(openai.Config{BaseURL: srv.URL})
//	…
//	if srv.Count("extract") != 2 { … }
//
// Replies may call tools, and rules may ask how far the conversation has come:
//
//	srv.On(openaitest.Rule{Stage: "turn", Results: new(0),
//		Calls: []llm.ToolCall{{Name: "memory_search", Arguments: `{"query":"seat"}`}}})
//	srv.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, Match: "window", Reply: "You like window seats."})
//	srv.On(openaitest.Rule{Stage: "busy", Choice: llm.ChooseNone, Reply: "That is all I know."})
//	srv.On(openaitest.Rule{Stage: "busy", CallsFunc: func(c openaitest.Call) []llm.ToolCall { … }}) // never stops
//
// Calls are told apart by the X-Skill-* headers that llm.Label becomes, by the
// last message, by the tools and by how often they came; never by arrival order,
// since the real pipeline works in parallel. A request that no rule matches is
// answered with 599 and fails the test.
//
// Nothing needs a sleep: Barrier holds replies until Release, Await and
// AwaitBarrier return as soon as enough requests have come.
//
// Start gives the same server without a test. Other programs steer it through
// PUT /script, GET /requests, GET /paid and POST /barrier/{name}/release, below
// Root.
package openaitest
