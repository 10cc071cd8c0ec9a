package speed

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"cairn/internal/domain/transcript"
)

// Texts in the first message of a task, which control the scripted model.
const (
	wantsScript   = "write a script"
	wantsDocument = "write a document"
)

// threeTasks needs at most five parallel model calls: the first task writes a script and a
// document, the second a script, the third a document.
func threeTasks(n int) transcript.Conversation {
	return distillConversation(fmt.Sprintf("latency-%d", n), n, wantsScript+", "+wantsDocument, wantsScript,
		wantsDocument)
}

// oneTask has as many steps as the empty workflows of the comparison.
func oneTask(n int) transcript.Conversation {
	return distillConversation(fmt.Sprintf("load-%d", n), n, wantsScript+", "+wantsDocument)
}

// distillConversation has six messages for each task. Names are derived from n, so no two are equal.
func distillConversation(id string, n int, wishes ...string) transcript.Conversation {
	c := transcript.Conversation{ID: id, Title: id}
	say := func(role transcript.Role, text string) {
		c.Messages = append(c.Messages, transcript.Message{Seq: len(c.Messages), Role: role, Content: text})
	}
	for i, w := range wishes {
		ws := words(uint64(n*len(wishes)+i), 4)
		say(transcript.User, taskMark+strings.Join(ws[:3], " ")+": "+w+".")
		say(transcript.Assistant, "I look at the "+ws[3]+".")
		say(transcript.Tool, ws[3]+": 404")
		say(transcript.Assistant, "It is missing, I make a new one.")
		say(transcript.Tool, ws[3]+": 201")
		say(transcript.Assistant, "Done.")
	}
	return c
}

// taskMark starts the first message of a task.
const taskMark = "Please do "

// words returns n made-up words that depend on seed.
func words(seed uint64, n int) []string {
	draw := rand.New(rand.NewPCG(seed, 1))
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for range 4 {
			b.WriteByte("bcdfghjklmnprstvwz"[draw.IntN(18)])
			b.WriteByte("aeiou"[draw.IntN(5)])
		}
		out[i] = b.String()
	}
	return out
}
