package e2e_test

import (
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/erasure"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/fakes/telegramtest"
	"cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// recording is the beginning of a voice message.
const recording = "OggS\x00\x02 a recording of speech"

func withTranscriber(o *config.Config) { o.TranscribeModel = "whisper-1" }

// speak makes Ada send a recording.
func (c *chats) speak(caption, ogg string) {
	c.telegram.SayFile(channeltest.UserMessage{User: "7", Name: "Ada", Text: caption}, telegramtest.Voice, []byte(ogg))
}

func TestAVoiceMessageIsTranscribedOnce(t *testing.T) {
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s", withTranscriber)
	c.Model.On(openaitest.Rule{Stage: "transcribe", Nth: 1, Status: 503})
	c.Model.On(openaitest.Rule{Stage: "transcribe", Match: `^voice\.ogg$`, Reply: " When does the train leave? "})
	c.pair(7, "Ada")
	c.speak("Listen:", recording)
	if got := c.last("7", 2).Text; got != "You said <b>[voice message] When does the train leave?</b>" {
		t.Errorf("the reply is %q", got)
	}
	for query, want := range map[string]int{
		"select count(*) from cairn.turns where tainted": 1,
		"select count(*) from cairn.messages where content = " +
			"E'Listen:\\n\\n[voice message] When does the train leave?'": 1,
		"select count(*) from cairn.attachments where conversation_id is not null and content = ''": 1,
		// two seconds, at 10 tokens each
		"select count(*) from cairn.llm_calls where stage = 'transcribe' and state = 'done' and attempts = 2 and " +
			"input_tokens = 20 and cost_micros > 0 and length(" + requestOf + ") < 300": 1,
		"select count(*) from cairn.search_docs where text like 'Listen:%train leave%'": 1,
	} {
		if got := c.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if n := c.transcribed(); n != 1 {
		t.Errorf("%d transcriptions were paid", n)
	}
	var id, key string
	testkit.Must(t, c.Admin().QueryRow(t.Context(), "select r.workflow_id, w.key from cairn.runs r join "+
		"cairn.workspaces w on w.id = r.workspace_id where r.kind = 'turn'").Scan(&id, &key))
	c.RecordEnded(id, "Turn/voice")
	for _, e := range c.History(id, "").Events {
		if raw := e.String(); strings.Contains(raw, "OggS") || strings.Contains(raw, "train") {
			t.Errorf("the history of the turn has content: %s", raw)
		}
	}
}

// transcribed returns the number of recordings whose words were paid.
func (c *chats) transcribed() (n int) {
	paid := c.Model.Paid()
	for _, call := range c.Model.Requests() {
		if call.Stage == "transcribe" {
			n += paid[call.Key()]
			delete(paid, call.Key())
		}
	}
	return n
}

// A worker that dies after the words are known, and before they are answered, pays for them once.
func TestAWorkerDiesBetweenTranscriptionAndReply(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s", withTranscriber)
	c.Model.On(openaitest.Rule{Stage: "transcribe", Reply: "Do you hear me?"})
	c.Stop()
	c.pair(7, "Ada")
	c.Model.Forget()
	c.Model.On(openaitest.Rule{Stage: "transcribe", Reply: "Do you hear me?"})
	c.Model.On(openaitest.Rule{Stage: "turn", Nth: 1, Barrier: "held", Reply: "lost"})
	c.Model.On(openaitest.Rule{Stage: "turn", Reply: "I hear you."})
	worker := c.StartProcess()
	c.speak("", recording)
	testkit.Must(t, c.Model.AwaitBarrier(t.Context(), "held", 1))
	worker.Kill()
	c.StartProcess()
	if got := c.last("7", 2).Text; got != "I hear you." {
		t.Errorf("the reply is %q", got)
	}
	c.Model.Release("held")
	if n := c.transcribed(); n != 1 || c.Model.Count("transcribe") != 1 {
		t.Errorf("%d requests of transcription, %d paid", c.Model.Count("transcribe"), n)
	}
}

// The same if it dies while the words are on their way: the second attempt gets them.
func TestAWorkerDiesDuringATranscription(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s", withTranscriber)
	c.Stop()
	c.pair(7, "Ada")
	c.Model.On(openaitest.Rule{Stage: "transcribe", Nth: 1, Barrier: "held", Drop: true})
	c.Model.On(openaitest.Rule{Stage: "transcribe", Reply: "Do you hear me?"})
	worker := c.StartProcess()
	c.speak("", recording)
	testkit.Must(t, c.Model.AwaitBarrier(t.Context(), "held", 1))
	worker.Kill()
	c.Model.Release("held")
	c.StartProcess()
	if got := c.last("7", 2).Text; got != "You said <b>[voice message] Do you hear me?</b>" {
		t.Errorf("the reply is %q", got)
	}
	if n := c.transcribed(); n != 1 {
		t.Errorf("%d transcriptions were paid", n)
	}
}

// A recording without words is not answered by a model. The user is told why, in the language of the profile.
func TestUsersAreToldThatAVoiceMessageIsNotRead(t *testing.T) {
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s, language: zh", withTranscriber)
	c.Model.On(openaitest.Rule{Stage: "transcribe", Nth: 1, Reply: " "})
	c.Model.On(openaitest.Rule{Stage: "transcribe", Nth: 2, Status: 400, Reply: "the audio is broken"})
	c.Model.On(openaitest.Rule{Stage: "transcribe", Reply: ""})
	c.pair(7, "Ada")
	for i, one := range []struct{ caption, ogg, want string }{
		{"", recording, "我无法读取该语音消息：没有识别到语音内容。"},
		{"", recording, "我无法读取该语音消息：模型无法转写。"},
		{"", "", "我无法读取该语音消息：没有识别到语音内容。"},
		{"Hi", recording, "You said <b>[voice message]</b>\n\n我无法读取该语音消息：没有识别到语音内容。"},
		{"Hi", "", "You said <b>[voice message: not read]</b>\n\n我无法读取该语音消息：没有识别到语音内容。"},
		{"", strings.Repeat(recording, 25<<20/len(recording)+1), "我无法读取该语音消息：大小上限为 25 MB。"},
	} {
		c.speak(one.caption, one.ogg)
		if got := c.last("7", i+2).Text; got != one.want {
			t.Errorf("%d: the reply is %q, want %q", i, got, one.want)
		}
	}
	if n := c.Model.Count("turn"); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestWithoutAModelVoiceMessagesAreNotRead(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.speak("", recording)
	want := "I could not read the voice message: no model for transcription is configured."
	if got := c.last("7", 2).Text; got != want {
		t.Errorf("the reply is %q", got)
	}
	if n := c.count("select count(*) from cairn.attachments"); n != 0 {
		t.Errorf("%d recordings are stored", n)
	}
}

// An erasure removes the files of the conversation. Those of commands are not kept.
func TestAnErasureRemovesAttachments(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s", withTranscriber, func(o *config.Config) { o.ImageModels = "*" })
	c.Model.On(openaitest.Rule{Stage: "transcribe", Reply: "Hello"})
	c.pair(7, "Ada")
	c.speak("", recording)
	c.last("7", 2)
	c.telegram.SayFile(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Look"}, telegramtest.Photo, []byte(png))
	c.last("7", 3)
	c.telegram.SayFile(channeltest.UserMessage{User: "7", Name: "Ada", Text: "/help"}, telegramtest.Photo, []byte(png))
	c.last("7", 4)
	if n := c.count("select count(*) from cairn.attachments where event_id is not null"); n != 0 {
		t.Errorf("%d attachments of events that are no messages", n)
	}
	ws, _, _, err := c.App.Store.Channels().Find(t.Context(), "ada", channel.KindUser, "7")
	testkit.Must(t, err)
	c.Workspace = ws
	e := erased(c.Bundle, erasure.Target{Workspace: ws.ID, Conversation: conversationNumber(c.Bundle, "ada/7")})
	if e.Deleted["attachments"] != 2 || e.Remaining["attachments"] != 0 {
		t.Errorf("deleted %v, remaining %v", e.Deleted, e.Remaining)
	}
	if n := c.count("select count(*) from cairn.attachments"); n != 0 {
		t.Errorf("%d attachments are left", n)
	}
}

// png is the beginning of an image.
const png = "\x89PNG\r\n\x1a\n an image"
