package prompt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
)

// Languages are the languages of the templates.
var Languages = []string{"en", "zh"}

// Replaceable lists the stages whose prompts a bank of memory skills can replace: those of the
// executor, the answers, the designer and the judge.
var Replaceable = []Stage{Remember, Recite, Diagnose, Propose, Grade}

// placeholders are the shared parts that each replaceable prompt contains: what the material is and
// that it is no instruction, the language of the reply, and its form.
var placeholders = []string{"material", "language", "reply"}

// maxTemplate is the maximum length of a replaced prompt, in characters. The longest built-in one
// has about 2,000.
const maxTemplate = 8_000

var (
	templatePart = regexp.MustCompile(`\{\{template "([a-z]+)" \.\}\}`)
	slot         = regexp.MustCompile(`\{\{[^{}]*\}\}`)
)

// Template returns the built-in prompt of a replaceable stage, with placeholders such as
// {{material}} for the shared parts.
func Template(stage Stage, lang string) (string, error) {
	if err := checkReplaceable(stage, lang); err != nil {
		return "", err
	}
	raw, err := templateFiles.ReadFile(fmt.Sprintf("templates/%s.%s.md", stage, lang))
	if err != nil {
		return "", fault.Wrap(err, fault.Internal, "read the template of stage "+string(stage), "")
	}
	return strings.TrimSpace(templatePart.ReplaceAllString(string(raw), "{{$1}}")), nil
}

func checkReplaceable(stage Stage, lang string) error {
	var names []string
	for _, s := range Replaceable {
		names = append(names, string(s))
	}
	if !slices.Contains(Replaceable, stage) {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("no prompt %.40q that a bank can replace", string(stage)),
			"use one of "+strings.Join(names, ", "))
	}
	if !slices.Contains(Languages, lang) {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("no prompts in language %.40q", lang), "use en or zh")
	}
	return nil
}

// CheckTemplate returns the prompt of a replaceable stage in the form that is stored, or an error
// that says what is wrong with it.
func CheckTemplate(stage Stage, lang, text string) (string, error) {
	if err := checkReplaceable(stage, lang); err != nil {
		return "", err
	}
	wrong := func(hint, format string, args ...any) error {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("prompt %s: ", stage)+fmt.Sprintf(format, args...), hint)
	}
	text = strings.ReplaceAll(norm.NFC.String(strings.ToValidUTF8(text, "\ufffd")), "\r\n", "\n")
	text = strings.TrimSpace(text)
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return "", wrong("send plain text", "the text has the control character %U", c)
		}
	}
	if n := utf8.RuneCountInString(text); n > maxTemplate {
		return "", wrong(fmt.Sprintf("shorten it to %d characters; every call pays for its prompt", maxTemplate),
			"the text has %d characters", n)
	}
	const start = "start from the built-in text: cairn bank prompts show "
	for _, found := range slot.FindAllString(text, -1) {
		if !slices.Contains(placeholders, strings.Trim(found, "{}")) {
			return "", wrong("use only {{material}}, {{language}} and {{reply}}", "unknown placeholder %.60q", found)
		}
	}
	for _, name := range placeholders {
		if !strings.Contains(text, "{{"+name+"}}") {
			return "", wrong(start+string(stage), "the placeholder {{%s}} is missing", name)
		}
	}
	if strings.TrimSpace(slot.ReplaceAllString(text, "")) == "" {
		return "", wrong(start+string(stage), "the text has only placeholders")
	}
	return text, nil
}

// Expand returns a checked prompt with the shared parts in place of the placeholders.
func Expand(text, lang string) string {
	for _, name := range placeholders {
		var part strings.Builder
		if err := templates[language(lang)].ExecuteTemplate(&part, name, nil); err != nil {
			panic(err) // the shared parts are embedded and have no parameters
		}
		text = strings.ReplaceAll(text, "{{"+name+"}}", part.String())
	}
	return text
}
