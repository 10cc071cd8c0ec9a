package llm

import (
	"fmt"
	"unicode"
)

// wording holds the texts that this package sends to models.
type wording struct {
	schema string // precedes a schema that is sent as text
	repair string // follows a reply that did not fit; %s is the validator's error
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

// Repair returns the messages that ask for a corrected reply: the model's reply, then the problem
// with it. language is "en" or "zh".
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

// wordingFor returns the language of instructions: Chinese if at least a third of the letters are
// Han. Chinese instructions quote English names, so the threshold is low.
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
