package memoryrules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/prompt"
)

// A Mask hides the values of one instance, because a skill is used for other instances. Dates and
// numbers are found by their form. Names are found by position: values of tool arguments and
// results, speakers, and introductions.
type Mask struct{ names *regexp.Regexp }

var (
	value   = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.]*|true|false`) // JSON values; group 2 marks a key
	nameKey = regexp.MustCompile(`(?i)name|user|customer|owner|city|street|address|姓名|用户|客户|地址|城市`)

	headASCII = regexp.MustCompile(`^[[:ascii:]]`) // \b matches ASCII only
	tailASCII = regexp.MustCompile(`[[:ascii:]]$`)

	annotateIntroduced = regexp.MustCompile(`(?:[Mm]y name is|[Cc]all me|I'm|I am|[Tt]hank ` +
		`you,|[Tt]hanks,|[Hh]i,?|[Hh]ello,?|[Dd]ear|Sure,|Mr\.?|Mrs\.?|Ms\.?|Dr\.?) (\p{Lu}[\p{L}'’-]+(?: ` +
		`\p{Lu}[\p{L}'’-]+)?)` +
		`|(?:我叫|名叫|我的名字是|姓名[是为：:]|联系人[是为：:]?)\s*(\p{Han}{2,3})` +
		`|我是([王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕]\p{Han}{1,2})(?:[，。,.！!]|$)`)
	labelled = regexp.MustCompile(`((?:\b(?i:id|number|code|reference)\b|编号|号码|单号)\W{0,3}(?:(?i:is)\s|[是为])?\W{0,2}` +
		`)([A-Z0-9][A-Z0-9_-]{3,})`)
)

const month = `(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|ober)?`

// shapes are tried in order. Each has a placeholder that names the kind. The text of a rule keeps
// its plain numbers, because they are part of the rule.
var shapes = []struct {
	pattern *regexp.Regexp
	kind    string
	inRules bool
}{
	{regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`), "[email]", true},
	{regexp.MustCompile(`\d{4}-\d{1,2}-\d{1,2}(?:[T ` +
		`]\d{1,2}:\d{2}(?::\d{2})?)?|\d{4}年\d{1,2}月(?:\d{1,2}[日号])?|\d{1,2}月\d{1,2}[日号]`), "[date]", true},
	{regexp.MustCompile(`(?:\d[ -]?){12,18}\d|\+?\(?\d{2,4}\)?[ -]\d{3,4}[ -]\d{3,4}`), "[number]", true},
	{regexp.MustCompile(`\b(?:[\p{L}_#][\p{L}_#-]*\d[\p{L}_-]*\d|\d+\p{L}[\p{L}_-]*\d)[\p{L}\p{N}_-]*`), "[id]", true},
	{regexp.MustCompile(`(?i)\b` + month +
		`\.? \d{1,2}(?:st|nd|rd|th)?\b(?:,? \d{4}\b)?|\b\d{1,2}(?:st|nd|rd|th)?(?: of)? ` + month + `\b`), "[date]",
		false},
	{regexp.MustCompile(`(?i)\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?\b|\b\d{1,2} ?[ap]m\b`), "[time]", false},
	{regexp.MustCompile(`[$€£¥]\s?\d(?:[\d,.]*\d)?|\d[\d,.]*\s?(?:元|块|美元|欧元|dollars|euros|USD|EUR|CNY)`), "[amount]",
		false},
	{regexp.MustCompile(`\b\d[\d,]*\.\d+\b|\b\d[\d,]{2,}\b`), "[number]", false},
}

// NewMask returns the mask for the names in a transcript.
func NewMask(messages []prompt.Message) Mask {
	var names []string
	for _, m := range messages {
		data := m.Content
		if m.Role != "tool" {
			names = append(names, m.Name)
			data = strings.Join(m.ToolCalls, "\n")
		}
		for _, match := range annotateIntroduced.FindAllStringSubmatch(m.Content, -1) {
			names = append(names, match[1:]...)
		}
		names = append(names, properNouns(data, messages)...)
	}
	patterns := []string{`[^\x00-\x{10FFFF}]`} // matches nothing, in case there are no names
	for _, w := range strings.Fields(strings.Join(names, " ")) {
		if w = strings.Trim(w, ".,"); len(w) > 1 && !IsStop(w) {
			w = headASCII.ReplaceAllString(regexp.QuoteMeta(w), `\b$0`)
			w = tailASCII.ReplaceAllString(w, `$0\b`)
			patterns = append(patterns, w)
		}
	}
	slices.Sort(patterns)
	return Mask{regexp.MustCompile(strings.Join(slices.Compact(patterns), "|"))}
}

// properNouns returns the words of short JSON values that are capitalized and never in lower case,
// or whose key names people or places.
func properNouns(data string, messages []prompt.Message) []string {
	var out []string
	key := ""
	for _, match := range value.FindAllStringSubmatch(data, -1) {
		if match[2] != "" {
			key = match[1]
			continue
		}
		words := strings.Fields(unquote(match[0]))
		for _, w := range words {
			first, _ := utf8.DecodeRuneInString(w)
			lower := strings.ToLower(w)
			common := func(m prompt.Message) bool { return strings.Contains(m.Content, lower) }
			capital := unicode.IsUpper(first) && len(w) > 1
			named := nameKey.MatchString(key) && (capital || unicode.Is(unicode.Han, first))
			if len(words) <= 4 &&
				(named || capital && !slices.ContainsFunc(messages, common)) { // longer values are sentences
				out = append(out, w)
			}
		}
	}
	return out
}

// Hide replaces private values in a text.
func (m Mask) Hide(text string, rules bool) string {
	text = labelled.ReplaceAllString(text, "${1}[id]")
	if strings.ContainsAny(text, "0123456789@") { // every shape needs one of these
		for _, shape := range shapes {
			if shape.inRules || !rules {
				text = shape.pattern.ReplaceAllString(text, shape.kind)
			}
		}
	}
	if m.names != nil {
		text = strings.ReplaceAll(m.names.ReplaceAllString(text, "[name]"), "[name] [name]", "[name]")
	}
	return text
}
