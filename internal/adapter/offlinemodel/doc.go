// Package offlinemodel is the model that answers when no endpoint is set: rules
// behind an OpenAI-compatible HTTP handler. It makes every command, test and
// demo run without network or key, and always gives the same answer to the
// same request.
//
// It knows nothing of stages, headers, schema names or skills. A request has
// one shape for every model (package prompt): instructions, one fenced JSON
// material, and a JSON Schema or tools. Without a material the conversation is
// it, and what came after the last answer is being answered. Four steps do so:
//
//	read    takes material, schema, tools and earlier calls out of the request
//	look    masks what is private and marks sentences and calls, once
//	        (package notice), and sees what may be learnt from them
//	fill    walks the schema; one answerer for each property name, else empty
//	act     without a schema: calls a tool when the material holds something
//	        for it that was not sent yet, else answers in text; a policy for
//	        each parameter name says what to send (facts for content, key words
//	        for query, a document where there is a name and a description too);
//	        a tool that is about somebody is called for whom the instructions list
//
// An answerer says what the material shows and nothing else: with other names,
// numbers or topics the answer follows. Its wording is no promise; tests assert
// properties such as "renaming a person leaves no trace of either name".
//
// What memory skills ask for is answered by package rememberer, which has a
// budget of its own.
//
// The package stays small on purpose: 1,550 lines of code together with notice,
// 30 answerers, 12 tool policies, all checked by a test. A new answerer needs a
// second caller.
package offlinemodel
