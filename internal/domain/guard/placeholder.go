package guard

import "regexp"

var masked = regexp.MustCompile(`\[([a-z][a-z_]{0,30})\](?:[^(]|$)`)

// placeholderKinds are the labels of Mask and Generalize that are no names of IDs, with their kinds.
var placeholderKinds = map[string]string{"name": "name", "email": "email", "card": "card", "phone": "phone",
	"address": "address", "birth_date": "birth_date", "date": "date", "amount": "amount", "number": "number",
	"origin": "route", "destination": "route", "tier": "tier", "city": "city", "age": "age", "employer": "employer",
	"product": "product", "id": "id"}

// Placeholders counts the placeholders of Mask and Generalize in a text by kind.
func Placeholders(text string) map[string]int {
	counts := map[string]int{}
	for _, m := range masked.FindAllStringSubmatch(text, -1) {
		kind := placeholderKinds[m[1]]
		if kind == "" && (idKey.MatchString(m[1]) || handleKey.MatchString(m[1]) || bookingKey.MatchString(m[1])) {
			kind = "id"
		}
		if kind != "" {
			counts[kind]++
		}
	}
	return counts
}
