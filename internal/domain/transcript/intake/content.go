package intake

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"cairn/internal/domain/transcript"
)

// content collects the parts of one message.
type content struct {
	sink        *Sink
	texts       []string
	reasoning   []string
	attachments []transcript.Media
	calls       []transcript.ToolCall
}

// message returns a message with what was collected.
func (c *content) message(role transcript.Role) transcript.Message {
	return transcript.Message{Role: role, Content: strings.Join(c.texts, "\n"), ToolCalls: c.calls,
		Details: transcript.Details{Reasoning: c.thought(), Media: c.attachments}}
}

func (c *content) thought() string { return strings.Join(c.reasoning, "\n\n") }

// empty reports whether nothing was collected.
func (c *content) empty() bool {
	return len(c.texts) == 0 && len(c.reasoning) == 0 && len(c.attachments) == 0 && len(c.calls) == 0
}

func (c *content) think(text string) {
	if text != "" {
		c.reasoning = append(c.reasoning, text)
	}
}

// read collects a string, null, an object or a list of parts. It returns false for other values.
func (c *content) read(n JSONValue) bool {
	switch n.Kind() {
	case 0, 'n':
		return true
	case '"':
		c.texts = append(c.texts, n.Str())
		return true
	case '{':
		c.part(n)
		return true
	case '[':
		for _, item := range n.Items() {
			if item.IsString() {
				c.texts = append(c.texts, item.Str())
				c.sink.report.Parts++
			} else {
				c.part(item)
			}
		}
		return true
	}
	return false
}

// part collects one part of any chat format.
func (c *content) part(n JSONValue) {
	o := n.Members()
	kind := o.Str("type")
	c.sink.report.Parts++
	switch kind {
	case "text", "input_text", "output_text", "summary_text", "plaintext":
		c.texts = append(c.texts, o.First("text", "content").Text())
	case "refusal":
		c.texts = append(c.texts, o.First("refusal", "text").Text())
	case "thinking", "reasoning", "reasoning_text":
		c.thinking(o)
	case "redacted_thinking":
		c.sink.skip("redacted reasoning", 1)
	case "image_url", "input_image", "image", "image_file":
		c.attach("image", o)
	case "input_audio", "audio", "audio_url":
		c.attach("audio", o)
	case "video", "video_url":
		c.attach("video", o)
	case "file", "input_file", "document", "container_upload", "media":
		c.attach("file", o)
	case "":
		if text := o["text"]; text.IsString() { // parts of other interfaces state no type
			c.texts = append(c.texts, text.Str())
			return
		}
		c.other(n, "")
	default:
		c.other(n, kind)
	}
}

func (c *content) thinking(o JSONObject) {
	if v := o.First("thinking", "reasoning", "text", "content"); v.IsString() {
		c.think(v.Str())
		return
	}
	if summary := o["summary"]; summary.IsArray() {
		for _, one := range summary.Items() {
			c.think(one.Get("text").Str())
		}
		return
	}
	c.sink.skip("redacted reasoning", 1)
}

// other keeps a part of an unknown kind as JSON text.
func (c *content) other(n JSONValue, kind string) {
	c.sink.report.Parts--
	c.sink.unknown(kind)
	c.texts = append(c.texts, n.JSON())
}

// attach collects an image or file, and leaves a placeholder in the text.
func (c *content) attach(kind string, o JSONObject) {
	a := transcript.Media{Kind: kind}
	sources := []JSONObject{o}
	for _, key := range []string{"source", "image_url", "input_audio", "audio_url", "video_url", "file", "image_file"} {
		if v := o[key]; v.IsObject() {
			sources = append(sources, v.Members())
		} else if v.IsString() {
			address(&a, v.Str())
		}
	}
	for _, source := range sources {
		if mime := source.First("media_type", "mime_type", "mimeType"); mime.IsString() {
			a.MIME = mime.Str()
		}
		if at := source.First("url", "uri", "fileUri", "file_uri", "file_id"); at.IsString() {
			address(&a, at.Str())
		}
		if data := source.First("data", "base64", "file_data"); data.IsString() && source.Str("type") != "url" {
			bytesOf(&a, data.Str())
		}
	}
	c.add(a)
}

func (c *content) add(a transcript.Media) {
	c.attachments = append(c.attachments, a)
	c.texts = append(c.texts, "["+a.Kind+"]")
}

// address stores where the bytes are. An address can hold the bytes themselves.
func address(a *transcript.Media, text string) {
	if strings.HasPrefix(text, "data:") {
		bytesOf(a, text)
		return
	}
	a.URI = text
}

// bytesOf stores the hash of base64 data, with or without a header.
func bytesOf(a *transcript.Media, text string) {
	if header, data, found := strings.Cut(text, ";base64,"); found && strings.HasPrefix(header, "data:") {
		a.MIME, text = strings.TrimPrefix(header, "data:"), data
	}
	a.SHA256 = hash(text)
}

// hash returns the SHA-256 of base64 data, or of the text itself if it is none.
func hash(text string) string {
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		data = []byte(text)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// clock returns the time of the first member that has one.
func clock(o JSONObject, keys ...string) time.Time {
	for _, key := range keys {
		text := o.Str(key)
		if text == "" {
			continue
		}
		if t, ok := transcript.ParseTime(text); ok {
			return t
		}
	}
	return time.Time{}
}
