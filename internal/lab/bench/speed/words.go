package speed

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"cairn/internal/domain/skill"
)

var (
	verbs = strings.Fields("rotate renew restart migrate archive restore verify resize patch drain scale audit " +
		"replay throttle index compress encrypt label merge split")
	objects = strings.Fields("certificate database queue gateway invoice booking refund replica cluster dashboard " +
		"pipeline webhook ledger mailbox snapshot tenant secret cache schema report")
	places = strings.Fields("production staging backup billing checkout search identity warehouse edge archive " +
		"analytics support partner mobile kiosk")
)

// made returns the i-th skill. Its name is unique; it shares its words with others.
func made(i int, random *rand.Rand) skill.Document {
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	verb, object, place := verbs[i%len(verbs)], objects[i/len(verbs)%len(objects)],
		places[i/(len(verbs)*len(objects))%len(places)]
	name := fmt.Sprintf("%s %s %s %d", verb, place, object, i)
	steps := make([]string, 6)
	for n := range steps {
		steps[n] = fmt.Sprintf("%d. %s the %s of %s, then check the %s", n+1, pick(verbs), pick(objects), pick(places),
			pick(objects))
	}
	return skill.Document{Name: name, Description: fmt.Sprintf("How to %s the %s of %s when a %s asks for it", verb,
		object, place, pick(objects)),
		Trigger: []string{verb + " " + object, place}, Procedure: strings.Join(steps, "\n")}.Normalized()
}
