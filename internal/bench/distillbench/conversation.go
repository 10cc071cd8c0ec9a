package distillbench

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"cairn/internal/domain/transcript"
)

// Wishes of a task, which the scripted model reads out of its first message.
const (
	wantsScript   = "write a script"
	wantsDocument = "write a document"
)

// threeTasks has at most five model calls at once: the first task writes a
// script and a document, the second a script, the third a document.
func threeTasks(n int) transcript.Conversation {
	return conversation(fmt.Sprintf("latency-%d", n), n, wantsScript+", "+wantsDocument, wantsScript, wantsDocument)
}

// oneTask has as many steps as the empty workflows beside it.
func oneTask(n int) transcript.Conversation {
	return conversation(fmt.Sprintf("load-%d", n), n, wantsScript+", "+wantsDocument)
}

// conversation has six messages for each task, whose names are made up from n so
// that no two are alike.
func conversation(id string, n int, wishes ...string) transcript.Conversation {
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

// taskMark begins a task's first message.
const taskMark = "Please do "

// words makes up n words that nobody else gets.
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
