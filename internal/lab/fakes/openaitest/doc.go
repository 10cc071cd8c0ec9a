// Package openaitest is a scripted OpenAI-compatible server. Tests define its replies and failures
// per request, and afterwards read the requests.
//
//	srv := openaitest.New(t)
//	srv.On(openaitest.Rule{Stage: "extract", Nth: 1, Status: 503})
//	srv.On(openaitest.Rule{Stage: "extract", Reply: `{"name":"Rollback"}`})
//	model := openai.New(openai.Config{BaseURL: srv.URL})
//	…
//	if srv.Count("extract") != 2 { … }
//
// Replies may call tools, and rules may depend on the state of the conversation:
//
//	srv.On(openaitest.Rule{Stage: "turn", Results: new(0),
//		Calls: []llm.ToolCall{{Name: "memory_search", Arguments: `{"query":"seat"}`}}})
//	srv.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, Match: "window", Reply: "You like window seats."})
//	srv.On(openaitest.Rule{Stage: "busy", Choice: llm.ChooseNone, Reply: "That is all I know."})
//	srv.On(openaitest.Rule{Stage: "busy", CallsFunc: func(c openaitest.Call) []llm.ToolCall { … }}) // never stops
//
// Rules select requests by the X-Skill-* headers of llm.Label, by the last message, by the tools
// and by the number of matching requests. They do not use the order of arrival, since the pipeline
// works in parallel. A request that matches no rule gets status 599 and fails the test.
//
// Tests need no sleeps: Barrier holds replies until Release, and Await and AwaitBarrier return as
// soon as enough requests have arrived.
//
// Start runs the same server without a test. Other programs control it through PUT /script, GET
// /requests, GET /paid and POST /barrier/{name}/release, below Root.
package openaitest
