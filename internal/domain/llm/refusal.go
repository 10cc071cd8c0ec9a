package llm

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// refusalLength is the longest text, in runes, that can be a refusal. Longer texts that start with
// an apology usually contain a reply.
const refusalLength = 400

// A refusal apologizes or declines at the very start, and names the act of helping. "I can't find a
// task in these messages" is not a refusal.
var refusals = regexp.MustCompile(`(?i)^(` +
	`((i['’]m|i am) (very |really |truly )?sorry|sorry|i apologi[sz]e|my apologies|unfortunately)` +
	`[,.;]?( but)? (i|we) ` + cannot + `|` +
	`(i|we) ` + cannot + `|` +
	`as an ai( language model)?,? i ` + cannot + `|` +
	`(非常|很|十分)?(抱歉|对不起|不好意思)[，,。！]?(但是?)?(我|本助手|作为[^，,。]{0,12}[，,]?我)?` + cannotZh + `|` +
	`(作为[^，,。]{0,12}[，,])?我` + cannotZh +
	`)`)

const (
	cannot = `(can['’]?t|cannot|can not|won['’]t|will not|(am|['’]m|are) (unable|not able) to|must decline to|have ` +
		`to decline to) ` +
		`(help|assist|comply|fulfil|do that|continue with (this|that)|engage (in|with)|support ` +
		`(this|that|such)|participate in|` +
		`provide (this|that|such|you with|any|assistance|help|guidance|instructions|information|content)|` +
		`(create|generate|produce|write|discuss|share|answer|respond to) ` +
		`(this|that|such|harmful|explicit|inappropriate|content))`
	cannotZh = `(无法|不能|不可以|没有办法|没法)(为您|为你|对此|继续)?(协助|帮助|帮您|帮你|满足(这|该|此|您|你)|` +
		`提供(这|该|此|相关|有关|任何|帮助|协助)|(回答|回应|生成|完成|执行|参与|讨论)(这|该|此|相关|有关|任何))`
)

// LooksRefused reports whether a whole reply is a refusal, in English or Chinese. It checks only
// short texts, and never JSON.
func LooksRefused(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || utf8.RuneCountInString(text) > refusalLength || strings.IndexAny(text, "{[`<") == 0 {
		return false
	}
	return refusals.MatchString(text)
}
