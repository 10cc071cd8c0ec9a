// Package offlinemodel is the offline model: rules behind an OpenAI-compatible HTTP handler. It is
// used if no endpoint is configured. With it every command, test and demo runs without network or
// key, and the same request always gets the same reply.
//
// It has no knowledge of stages, headers, schema names or skills. A request has one shape for every
// model (package prompt): instructions, one fenced JSON material, and a JSON Schema or tools.
// Without a material, the conversation is the material, and the messages after the last reply are
// the question. Processing has four steps:
//
//	read    extracts material, schema, tools and earlier calls from the request
//	look    masks private data and marks sentences and calls, once
//	        (package annotate), and finds what can be learned from them
//	fill    walks the schema; one answerer for each property name, else empty
//	act     without a schema: calls a tool if the material holds something
//	        for it that was not sent yet, else replies in text; a policy for
//	        each parameter name selects what to send (facts for content, key
//	        words for query, a document for a name with a description); a tool
//	        about a person is called for each target in the instructions
//
// An answerer only repeats what the material shows: with other names, numbers or topics the reply
// changes accordingly. Its exact wording may change. Tests assert properties such as "renaming a
// person leaves no trace of either name".
//
// Requests for memory skills are handled by package memoryrules, which has its own size limit.
//
// The package is small on purpose: 2,000 lines of code together with annotate, 36 answerers, 12
// tool policies, all checked by a test. A new answerer needs a second caller.
package offlinemodel
