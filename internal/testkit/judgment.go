package testkit

import "encoding/json"

// Judgment returns a judge's reply about a skill with a sum of points from 0 to 16, spread evenly over the
// eight criteria. quote is text of the skill, said is text of the conversation.
func Judgment(sum int, quote, said, reason string) string {
	type criterion struct {
		Name    string `json:"criterion"`
		Quote   string `json:"quote"`
		Missing string `json:"missing"`
		Points  int    `json:"points"`
	}
	names := []string{"verification", "steps", "grounded", "reusable", "trigger", "inputs", "rules", "errors"}
	var list []criterion
	for i, name := range names {
		c := criterion{Name: name, Quote: quote, Points: (sum + len(names) - 1 - i) / len(names)}
		if name == "grounded" {
			c.Quote = said
		}
		list = append(list, c)
	}
	text, _ := json.Marshal(map[string]any{"criteria": list, "reason": reason}) // plain values always marshal
	return string(text)
}
