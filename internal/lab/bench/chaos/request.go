package chaos

import (
	"fmt"
	"math/rand/v2"

	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// request is one conversation to distill with its expected effects.
type request struct {
	conversation transcript.Conversation // its ID is also the ID of the request
	driven       bool                    // whether the client starts the workflow; otherwise the relay does
	outcome      run.Outcome
	lessons      []lesson // one lesson per task
}

// lesson is a text that the theme's skill must contain at the end.
type lesson struct {
	theme theme
	text  string
}

// requests creates n random conversations about the first skills themes. All themes are
// equally frequent; the seed determines their order.
func requests(n, skills int, draw *rand.Rand) []request {
	out := make([]request, n)
	order := make([]int, 0, 2*n)
	for len(order) < 2*n {
		order = append(order, draw.Perm(skills)...)
	}
	next := func() theme {
		t := themes[order[0]]
		order = order[1:]
		return t
	}
	for i := range out {
		r := request{driven: i%undrivenEvery != 1, outcome: run.Completed}
		var talk talk
		switch {
		case i%briefEvery == briefEvery-1:
			r.outcome = run.Gated
			talk.say(transcript.User, "Hello %d", i)
			talk.say(transcript.Assistant, "Hello")
		case i%smallTalkEvery == smallTalkEvery-1:
			r.outcome = run.NothingToExtract
			talk.smallTalk(i)
		default:
			tasks := []theme{next()}
			if i%secondTaskOf == 0 {
				if second := next(); second.id != tasks[0].id {
					tasks = append(tasks, second)
				}
			}
			for at, t := range tasks {
				ticket := fmt.Sprintf("c%04d%c", i, 'a'+at)
				talk.work(t, ticket, len(tasks) == 1)
				r.lessons = append(r.lessons, lesson{t, t.lesson(ticket)})
			}
		}
		r.conversation = transcript.Conversation{ID: fmt.Sprintf("chaos-%04d", i), Title: fmt.Sprintf("chaos %d", i),
			Messages: talk.messages}
		out[i] = r
	}
	return out
}

// talk builds a conversation.
type talk struct{ messages []transcript.Message }

func (t *talk) say(role transcript.Role, format string, args ...any) {
	t.messages = append(t.messages, transcript.Message{Seq: len(t.messages), Role: role,
		Content: fmt.Sprintf(format, args...)})
}

// work adds a task with 8 messages, or 12 if long is true.
func (t *talk) work(about theme, ticket string, long bool) {
	ask, look, found, done, thanks := "Please help. %s. Ticket %s.", "I look at the %s.", "%s: value %d",
		"All parts are in order now.", "Thank you, and remember: %s."
	if about.chinese {
		ask, look, found, done, thanks = "请帮忙%s，工单 %s。", "我先看一下%s。", "%s：数值 %d", "现在一切正常。", "谢谢，请记住：%s。"
	}
	t.say(transcript.User, ask, about.title, ticket)
	parts := about.parts[:2]
	if long {
		parts = about.parts
	}
	for i, part := range parts {
		t.say(transcript.Assistant, look, part)
		t.say(transcript.Tool, found, part, i)
	}
	t.say(transcript.Assistant, "%s", done)
	t.say(transcript.User, thanks, about.lesson(ticket))
	t.say(transcript.Assistant, "OK")
}

func (t *talk) smallTalk(i int) {
	for turn := range 5 {
		t.say(transcript.User, "It is day %d of the rain, hour %d.", i, turn)
		t.say(transcript.Assistant, "So it is.")
	}
}
