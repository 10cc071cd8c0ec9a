// Package guard decides which text may enter a prompt and which may be stored, because stored text
// becomes part of later prompts. It uses patterns only, without a model and without I/O. Its time
// is linear in the text.
//
// Before a transcript is sent to a model, secrets and private data are replaced by typed
// placeholders. One Redactor serves one run, so that equal values have equal placeholders and the
// text stays coherent:
//
//	redactor := guard.NewRedactor(guard.Options{Emails: true})
//	messages, counts := redactor.Messages(conversation.Messages)
//	// "use sk-4f…" is now "use {{secret:openai_key_1}}", counts is {"openai_key": 1}
//
// Before a skill, a memory or a soul is stored, its text is scanned for secrets and for
// instructions that attack a later reader:
//
//	findings := guard.Scan(text, guard.Strict)
//	switch guard.Verdict(findings) {
//	case guard.Dangerous: // refuse, or store as a candidate
//	case guard.Caution:   // store with a warning, or stage
//	}
//	if len(guard.Secrets(text)) > 0 { … } // secret_detected
//
// CheckSkill does both for the texts and files of a skill. The Refusal of its Report is the error
// to return. A Finding names the rule and the line, never the text, so it can be logged and shown.
//
// Stored text is scanned again when it is loaded into a prompt, because tools are not the only way
// to write a row:
//
//	line, finding := guard.Sanitize("skills", id, text)
//	// the text, or "[blocked: skills entry 1f3a9c02, override.previous]"
//
// A skill is used for other cases than the one it was learned from. Values collects the values of
// one case from the JSON of tool calls and results. The set then finds and masks them in the text
// of the skill:
//
//	values := guard.Values(messages)
//	values.Find("Refund credit_card_4421486")  // one finding: personal.id
//	values.Mask("Refund credit_card_4421486")  // Refund [payment_id]
//
// The patterns are data: patterns/rules.yaml for English and Chinese texts, patterns/languages.yaml for
// orders in eighteen languages, patterns/scripts.yaml for scripts, patterns/secrets.yaml for secrets. An
// order is a sentence with words of several groups near one another, in any order: "forget" and
// "instructions" and "previous". A negated verb ("never forget …"), a condition, and a sentence about
// attackers are no order. The folder testdata has attacks that they must find and benign
// texts that they must not report. Patterns stop careless and copied attacks, not every paraphrase.
// Taint, fences and approval are further protections.
package guard
