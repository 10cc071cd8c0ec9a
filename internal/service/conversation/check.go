package conversation

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
)

func (r *Request) check() error {
	if r.Mode == "" {
		r.Mode = contract.Answer
	}
	if r.Origin == "" {
		r.Origin = "user"
	}
	if r.Channel == "" {
		r.Channel = "chat"
	}
	if err := CheckID("conversation", r.Conversation); err != nil {
		return err
	}
	if err := CheckID("message", r.MessageID); err != nil {
		return err
	}
	switch {
	case r.Channel == imports || !shows(r.Channel) || utf8.RuneCountInString(r.Channel) > maxName:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid channel %.40q", r.Channel),
			"use one of "+strings.Join(channels, ", ")+", or another name, which is treated as sms")
	case !slices.Contains(origins, r.Origin):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid origin %q", r.Origin),
			"use one of "+strings.Join(origins, ", "))
	case r.Mode != contract.Answer && r.Mode != contract.Observe:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid mode %q", r.Mode),
			"use answer, or observe if your own agent has replied")
	}
	if !slices.Contains(channels, r.Channel) {
		r.Channel = agent.ChannelSMS
	}
	if err := checkSpeaker(r.Speaker); err != nil {
		return err
	}
	if r.Mode == contract.Observe {
		return r.checkObserved()
	}
	if len(r.Messages) > 0 {
		return fault.New(fault.InvalidArgument, "messages are allowed only in mode observe",
			"send the text of one message, or set mode to observe")
	}
	if len(r.Inputs) == 0 {
		return checkText(r.Text)
	}
	for _, m := range r.Inputs {
		if err := checkInput(m); err != nil {
			return err
		}
	}
	return nil
}

// CheckID checks the ID that a caller has given to a conversation or a message.
func CheckID(of, id string) error {
	if !shows(id) {
		return fault.New(fault.InvalidArgument, of+" ID has unprintable characters",
			"use letters, digits and punctuation")
	}
	if n := utf8.RuneCountInString(id); n == 0 || n > maxName {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid %s ID: %d characters", of, n),
			fmt.Sprintf("use 1 to %d characters", maxName))
	}
	return nil
}

// checkSpeaker refuses a name that could be taken for a message.
func checkSpeaker(name string) error {
	if utf8.RuneCountInString(name) > SpeakerRunes || !shows(name) {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid name of a speaker: %.40q", name),
			fmt.Sprintf("use at most %d characters in one line", SpeakerRunes))
	}
	return nil
}

func checkInput(m transcript.Message) error {
	if m.Role != transcript.Tool {
		if err := checkSpeaker(m.Name); err != nil {
			return err
		}
		if err := checkFiles(m.Attachments); err != nil {
			return err
		}
		return checkText(m.Content)
	}
	if n := utf8.RuneCountInString(m.Content); n > maxText {
		return fault.New(fault.TooLarge, fmt.Sprintf("result of a tool has %d characters, the limit is %d", n, maxText),
			"shorten the result")
	}
	return nil
}

// checkFiles refuses too many or too large files of a message. Those of chat platforms are checked before they are
// stored.
func checkFiles(files []transcript.Attachment) error {
	if len(files) > media.MaxImages {
		return fault.New(fault.TooLarge, fmt.Sprintf("message has %d files, the limit is %d", len(files),
			media.MaxImages), "send the files in several messages")
	}
	for _, f := range files {
		if limit := f.Kind.Limit(); len(f.Content) > limit {
			return fault.New(fault.TooLarge, fmt.Sprintf("%s has %d bytes, the limit is %d", f.Kind, len(f.Content),
				limit), "send a smaller one")
		}
	}
	return nil
}

func shows(id string) bool {
	return utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

func (r *Request) checkObserved() error {
	if r.Text != "" {
		return fault.New(fault.InvalidArgument, "text is allowed only in mode answer", "send the exchange as messages")
	}
	if len(r.Messages) == 0 || len(r.Messages) > maxObserved {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("observed exchange has %d messages", len(r.Messages)),
			fmt.Sprintf("send 1 to %d messages", maxObserved))
	}
	if r.Messages[0].Role != transcript.User {
		return fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("observed exchange starts with role %q", r.Messages[0].Role),
			"start with a user message",
		)
	}
	for i, m := range r.Messages {
		if !slices.Contains(roles, m.Role) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("message %d has invalid role %q", i, m.Role),
				"use user, assistant, tool or system")
		}
		if n := utf8.RuneCountInString(m.Content); n > maxText {
			return fault.New(fault.TooLarge, fmt.Sprintf("message %d has %d characters, the limit is %d", i, n,
				maxText), "shorten the message")
		}
	}
	return nil
}

func checkText(text string) error {
	if strings.TrimSpace(text) == "" {
		return fault.New(fault.InvalidArgument, "empty message", "send the text of the message")
	}
	if n := utf8.RuneCountInString(text); n > maxText {
		return fault.New(fault.TooLarge, fmt.Sprintf("message has %d characters, the limit is %d", n, maxText),
			"split the text into several messages")
	}
	return nil
}
