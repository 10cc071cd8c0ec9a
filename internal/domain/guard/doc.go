// Package guard decides what may enter a prompt and what may be kept, for
// everything that is kept becomes the text of a later prompt. It knows patterns
// only: no model, no input or output, and time linear in the text.
//
// Before a transcript goes to a model, secrets and private data become typed
// placeholders. One Redactor serves one run, so that equal values get equal
// placeholders and the text stays coherent:
//
//	redactor := guard.NewRedactor(guard.Options{Emails: true})
//	messages, counts := redactor.Messages(conversation.Messages)
//	// "use sk-4f…" is now "use {{secret:openai_key_1}}", counts is {"openai_key": 1}
//
// Before a skill, a memory or a soul is kept, its text is scanned for
// instructions that attack its later reader, and for secrets:
//
//	findings := guard.Scan(text, guard.Strict)
//	switch guard.Verdict(findings) {
//	case guard.Dangerous: // refuse, or keep as a candidate
//	case guard.Caution:   // keep with a warning, or stage
//	}
//	if len(guard.Secrets(text)) > 0 { … } // secret_detected
//
// CheckSkill does all of it for the texts and files of a skill, and the report's
// Refusal is the error to answer with. A Finding names the rule and the line,
// never the text, so it may be logged and shown.
//
// What is kept is scanned again when it is loaded into a prompt, for there are
// other ways into a table than the tools:
//
//	line, finding := guard.Sanitize("skills", id, text)
//	// the text, or "[blocked: skills entry 1f3a9c02, override.previous]"
//
// A skill also has to outlive the case it was learnt from. Values collects what
// belongs to one case from the JSON of tool calls and results; the set then
// finds and masks it where it leaked into general text:
//
//	values := guard.Values(messages)
//	values.Find("Refund credit_card_4421486")  // one finding: personal.id
//	values.Mask("Refund credit_card_4421486")  // Refund [payment_id]
//
// The patterns are data: patterns/rules.yaml for texts, patterns/scripts.yaml
// for scripts, patterns/secrets.yaml for secrets. The attacks that they have to
// find, and the benign texts that they have to leave alone, are in testdata. A
// scanner of words stops the careless and the copied attack, not every
// paraphrase; taint, fences and approval (spec/procedural-memory.md §6.1) stand
// behind it.
package guard
