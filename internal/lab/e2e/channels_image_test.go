package e2e_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	domain "cairn/internal/domain/channel"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/telegramtest"
	"cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// show makes Ada send a photo.
func (c *chats) show(caption, image string) (messageID string) {
	said := channeltest.UserMessage{User: "7", Name: "Ada", Text: caption}
	return c.telegram.SayFile(said, telegramtest.Photo, []byte(image))
}

// shown returns the images of the latest request to the model.
func (c *chats) shown() (out []llm.Image) {
	all := c.Model.Requests()
	for _, m := range all[len(all)-1].Messages {
		out = append(out, m.Images...)
	}
	return out
}

// A model that takes images gets those of a message, and of the three turns before it. The stored requests and the
// workflows have no content of them.
func TestAnImageOfAChatIsShownToTheModel(t *testing.T) {
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s", func(o *config.Config) { o.ImageModels = "other, scripted" })
	c.pair(7, "Ada")
	c.show("What is this?", png)
	c.last("7", 2)
	want := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png))
	if got := c.shown(); len(got) != 1 || got[0].URL != want {
		t.Errorf("the model got %v", got)
	}
	if got := c.lastRequest(); !strings.Contains(got, "What is this?") || !strings.Contains(got, "[image ") {
		t.Errorf("the model read %s", got)
	}
	c.show("", "\xff\xd8\xff\xe0 another image")
	c.last("7", 3)
	if got := c.shown(); len(got) != 2 || !strings.HasPrefix(got[1].URL, "data:image/jpeg;base64,") {
		t.Errorf("the model got %v", got)
	}
	for i := range 3 {
		c.say(7, "Ada", "And now?")
		c.last("7", i+4)
		if got, want := len(c.shown()), []int{2, 2, 1}[i]; got != want {
			t.Errorf("the model got %d images %d turns later, want %d", got, i+1, want)
		}
	}
	for query, want := range map[string]int{
		"select count(*) from cairn.attachments where kind = 'image' and type in ('image/png', 'image/jpeg') and " +
			"conversation_id is not null and length(content) > 10": 2,
		"select count(*) from cairn.llm_calls where " + requestOf + " like '%base64%'":               0,
		"select count(*) from cairn.llm_calls where " + requestOf + " like '%attachment:image/png%'": 4,
		"select count(*) from cairn.turns where tainted":                                             5,
		"select count(*) from cairn.channel_events where body <> '{}'":                               0,
	} {
		if got := c.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// What a file is called does not matter. A large image is not read, and the text of its message is answered.
func TestImagesThatAreNotRead(t *testing.T) {
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s", func(o *config.Config) { o.ImageModels = "*" })
	c.pair(7, "Ada")
	c.show("Read it", "This is a text.") // as a photo, image/jpeg
	c.last("7", 2)
	if got := c.lastRequest(); !strings.Contains(got, "This is a text.") || len(c.shown()) != 0 {
		t.Errorf("a text as an image: %s", got)
	}
	large := png + strings.Repeat("x", 11<<20)
	// as text/plain
	c.telegram.SayWith(channeltest.UserMessage{User: "7", Name: "Ada", Text: "And this?"}, []byte(large))
	want := "\n\nI could not read the image: the limit is 10 MB."
	if got := c.last("7", 3).Text; !strings.HasPrefix(got, "You said") || !strings.HasSuffix(got, want) {
		t.Errorf("the reply is %q", got)
	}
	c.show("", large)
	if got := c.last("7", 4).Text; got != strings.TrimSpace(want) {
		t.Errorf("the reply is %q", got)
	}
	if n := c.count("select count(*) from cairn.attachments"); n != 0 {
		t.Errorf("%d images are stored", n)
	}
}

// A message that its user deletes takes its image with it.
func TestAnImageIsDeletedWithItsMessage(t *testing.T) {
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s", func(o *config.Config) { o.ImageModels = "*" })
	c.pair(7, "Ada")
	id := c.show("Look", png)
	c.last("7", 2)
	i := slices.IndexFunc(c.accounts, func(a channel.Account) bool { return a.Name == "ada" })
	testkit.Must(t, c.App.Channels.AcceptEvents(t.Context(), c.accounts[i], []domain.Event{{Key: "deleted",
		Kind: domain.Deleted, Place: domain.Place{Account: "ada", Chat: "7"}, Sender: domain.Sender{ID: "7"},
		MessageID: id, At: time.Now()}}))
	testkit.Eventually(t, "the image is deleted", func() bool {
		return c.count("select count(*) from cairn.attachments") == 0
	})
	c.say(7, "Ada", "And now?")
	c.last("7", 3)
	if got := c.lastRequest(); strings.Contains(got, "Look") || len(c.shown()) != 0 {
		t.Errorf("the model got %s", got)
	}
}
