package llm

import (
	"fmt"
	"unicode"
)

// wording is what this package itself says to models.
type wording struct {
	schema string // before a schema that travels as text
	repair string // after a reply that did not fit; %s is the validator's error
}

var (
	english = wording{
		schema: "Reply with one JSON value that fits this JSON Schema, and nothing else:",
		repair: "Your reply did not fit: %s\nReply with the corrected JSON only.",
	}
	chinese = wording{
		schema: "只回复一个符合以下 JSON Schema 的 JSON 值，不要输出其他内容：",
		repair: "你的回复不符合要求：%s\n请只回复修正后的 JSON。",
	}
)

// Repair renders the messages that ask for a corrected reply: what the model
// said, then what was wrong with it. language is "en" or "zh".
func Repair(language, reply string, problem error) []Message {
	words := english
	if language == "zh" {
		words = chinese
	}
	return []Message{
		{Role: RoleAssistant, Content: reply},
		{Role: RoleUser, Content: fmt.Sprintf(words.repair, problem)},
	}
}

// wordingFor picks the language of instructions: Chinese when at least a third
// of the letters are Han, since instructions in Chinese quote English names.
func wordingFor(instructions string) wording {
	letters, han := 0, 0
	for _, r := range instructions {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Han, r) {
				han++
			}
		}
	}
	if han > 0 && han*3 >= letters {
		return chinese
	}
	return english
}
