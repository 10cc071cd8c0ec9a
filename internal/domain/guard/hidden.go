package guard

import (
	"regexp"
	"strings"
)

// addressed matches orders to a model, which notes for people do not contain.
var addressed = regexp.MustCompile(`\b(?:you must|you should|you are (?:now|an?)|you will|assistants?:? ` +
	`(?:must|should|please|ignore|run|send)|ai (?:agent|assistant|model)|the (?:model|agent|llm|assistant) ` +
	`(?:must|should|shall|will|is to)|ignore (?:all|any|the|previous|prior|your)|disregard ` +
	`(?:all|any|the|previous|prior|your|everything)|do not (?:tell|mention|reveal|show)|don't ` +
	`(?:tell|mention)|system prompt|(?:send|post|upload|forward)[^\n]{0,60}(?:https?://|@)|curl |wget ` +
	`|exfiltrat\w+|execute (?:the|this|all|any)|run (?:the )?(?:command|following)|api ` +
	`keys?|passwords?|credentials?|secretly)\b|忽略|不要告诉|指令|请?执行|发送到|上传到|密钥|密码|偷偷`)

// concealed matches an invisible HTML element with its text.
var concealed = pattern{needles: []string{"display:", "visibility:", "font-size:", "opacity:", "color:", "hidden"},
	reach: 400,
	expression: regexp.MustCompile(`<\w+[^<>\n]{0,120}(?:style\s?=\s?["'][^"'<>]{0,120}(?:display\s?:\s?none|` +
		`visibility\s?:\s?hidden|font-size\s?:\s?0|opacity\s?:\s?0(?:\.0+)?\s?[;"']|color\s?:\s?(?:white|` +
		`transparent|#fff(?:fff)?\b))|\shidden\b)[^<>]{0,120}>(?:\s?</?(?:summary|div|span|p|b|i|br)\b[^<>]{0,60}` +
		`>){0,4}([^<]{0,300})`)}

// remarks are the forms of a comment in Markdown: HTML comments, and link references without a
// link.
var remarks = []struct{ open, close string }{{"<!--", "-->"}, {"[//]: #", "\n"}, {"[comment]: #", "\n"},
	{"[_]: #", "\n"}}

// scanHidden finds orders in comments and in invisible elements. An unclosed comment hides all text
// after it.
func scanHidden(text string) []Finding {
	if !strings.ContainsAny(text, "<[＜") {
		return nil
	}
	f := fold(text)
	var findings []Finding
	found := func(offset int, id string) {
		if len(findings) < perRule {
			findings = append(findings, Finding{Family: Hidden, Severity: Dangerous, Line: f.line(offset), ID: id})
		}
	}
	for _, remark := range remarks {
		for at := 0; ; {
			i := strings.Index(f.text[at:], remark.open)
			if i < 0 {
				break
			}
			start := at + i
			body := f.text[start+len(remark.open):]
			if end := strings.Index(body, remark.close); end >= 0 {
				body = body[:end]
			}
			if addressed.MatchString(body) {
				found(start, "hidden.comment")
			}
			at = start + len(remark.open) + len(body)
		}
	}
	for _, m := range concealed.all(f.text, f.text) {
		if addressed.MatchString(f.text[m[2]:m[3]]) {
			found(m[0], "hidden.element")
		}
	}
	return findings
}
