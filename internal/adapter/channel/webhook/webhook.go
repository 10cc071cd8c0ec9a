// Package webhook connects any program by signed HTTP requests in both directions, as specified by Standard
// Webhooks.
//
// A program sends events to POST /channels/<account>/events, and gets messages at its own URL. Both requests have
// the headers webhook-id, webhook-timestamp and webhook-signature.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/metrics"
	service "cairn/internal/service/channel"
)

// Options configures an account.
type Options struct {
	Account string
	Secret  string // whsec_ and base64; signs both directions
	URL     string // that gets the messages; empty if the program only sends
	Units   int    // limit of a message; 0 means 4,000
	Client  *http.Client
}

// Adapter connects an account.
type Adapter struct {
	Options
	signer *standardwebhooks.Webhook
}

var _ service.Adapter = (*Adapter)(nil)

// New returns an Adapter. It fails if the secret has a wrong form.
func New(o Options) (*Adapter, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(o.Secret, "whsec_"))
	if err != nil || len(key) < minKey || len(key) > maxKey { // with an empty key, all can sign
		return nil, fault.New(fault.Misconfigured, "invalid secret of account "+o.Account,
			"set secret to whsec_ and the base64 form of 24 to 64 random bytes, as docs/how-to/channels.md shows")
	}
	signer, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "open account "+o.Account, "check its secret")
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: sendTimeout, CheckRedirect: noRedirect}
	}
	if o.Units == 0 {
		o.Units = 4000
	}
	return &Adapter{o, signer}, nil
}

// noRedirect makes a redirect the response. A client that follows one can lose the body: it turns the POST into a GET.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

const (
	minKey      = 24 // bytes of the secret
	maxKey      = 64
	sendTimeout = 20 * time.Second
	maxParts    = 5
	maxBytes    = 1 << 20 // of a request
	maxID       = 120     // bytes of an ID
	maxName     = 180     // bytes of the name of a place or a sender; the ID of a conversation has at most 200
)

// event is the body of a request to Cairn.
type event struct {
	// Type is message (default), edited or deleted, which name the message; button, whose text is its data; or
	// workflow.
	Type         string    `json:"type"`
	Conversation string    `json:"conversation"`
	Thread       string    `json:"thread"`
	Group        bool      `json:"group"`     // several people read the conversation
	Mentioned    bool      `json:"mentioned"` // the message is for the bot
	MessageID    string    `json:"message_id"`
	Text         string    `json:"text"`
	Name         string    `json:"name"` // of a workflow: distill, summarize or reflect
	Time         time.Time `json:"time"`
	Sender       struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Bot  bool   `json:"bot"`
	} `json:"sender"`
}

// kinds are the types of events.
var kinds = map[string]channel.Kind{"": channel.Message, "message": channel.Message, "edited": channel.Edited,
	"deleted": channel.Deleted, "button": channel.Button, "workflow": channel.Button}

// workflows are what a program can start for its conversation. They are commands of chats.
var workflows = []string{"distill", "summarize", "reflect"}

// Receive waits: events come to Handler.
func (a *Adapter) Receive(ctx context.Context, _ string, _ service.Accept) error {
	<-ctx.Done()
	return ctx.Err()
}

// Handler serves the requests of the program. It answers 204 after accept has stored the event.
func (a *Adapter) Handler(accept service.Accept) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
		if err != nil {
			refuse(w, http.StatusRequestEntityTooLarge, "the body has more than 1 MiB, or stopped arriving")
			return
		}
		if err := a.signer.Verify(raw, r.Header); err != nil {
			metrics.EventRejected("webhook", metrics.Unsigned)
			refuse(w, http.StatusUnauthorized, "invalid signature: "+err.Error())
			return
		}
		e, err := a.decode(raw, r.Header)
		if err != nil {
			metrics.EventRejected("webhook", metrics.Undecodable)
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		if err := accept(r.Context(), []channel.Event{e}, ""); err != nil {
			refuse(w, http.StatusServiceUnavailable, "not stored, send it again")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func (a *Adapter) decode(raw []byte, header http.Header) (out channel.Event, err error) {
	var in event
	if err := json.Unmarshal(raw, &in); err != nil {
		return out, fmt.Errorf("invalid body: %w", err)
	}
	for name, value := range map[string]string{"conversation": in.Conversation, "sender.id": in.Sender.ID} {
		if value == "" || len(value) > maxID || strings.ContainsFunc(value, unicode.IsControl) {
			return out, fmt.Errorf("%s must have 1 to %d bytes without control characters", name, maxID)
		}
	}
	key := header.Get(standardwebhooks.HeaderWebhookID)
	place := channel.Place{Account: a.Account, Chat: in.Conversation, Thread: in.Thread}
	kind, known := kinds[in.Type]
	switch {
	case len(key) > maxID:
		return out, fmt.Errorf("webhook-id must have at most %d bytes", maxID)
	case strings.ContainsFunc(in.Thread, unicode.IsControl):
		return out, errors.New("thread must have no control characters")
	case len(place.Conversation()) > maxName:
		return out, errors.New("conversation and thread are too long together; / # and % count three bytes")
	case len(in.Sender.Name) > maxName:
		return out, fmt.Errorf("sender.name must have at most %d bytes", maxName)
	case !known:
		return out, fmt.Errorf("unknown type %.40q: use message, edited, deleted, button or workflow", in.Type)
	case len(in.Thread) > maxID || len(in.MessageID) > maxID:
		return out, fmt.Errorf("thread and message_id must have at most %d bytes", maxID)
	case in.Type == "workflow" && !slices.Contains(workflows, in.Name):
		return out, fmt.Errorf("unknown workflow %.40q: use %s", in.Name, strings.Join(workflows, ", "))
	case in.Type == "workflow":
		in.Text = in.Name
	}
	if in.Time.IsZero() {
		seconds, _ := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64) // verified
		in.Time = time.Unix(seconds, 0)
	}
	return channel.Event{Key: key, Kind: kind, Group: in.Group, Mentioned: in.Mentioned,
		Place:     place,
		Sender:    channel.Sender{ID: in.Sender.ID, Name: in.Sender.Name, Bot: in.Sender.Bot},
		MessageID: cmp.Or(in.MessageID, key), Text: in.Text, At: in.Time}, nil
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": why}) // a write error means that the client has left
}

// message is the body of a request to the program.
type message struct {
	Conversation string           `json:"conversation"`
	Thread       string           `json:"thread,omitempty"`
	Text         string           `json:"text"`
	Buttons      []channel.Choice `json:"buttons,omitempty"`
}

// Send sends a message to the program's URL. A status of the class 2xx means that it has it; the program
// recognizes repetitions by webhook-id. A redirect is a failure.
func (a *Adapter) Send(ctx context.Context, to channel.Place, p channel.Part) (id string, err error) {
	if a.URL == "" {
		return "", &service.SendError{Reason: "the account has no url", Permanent: true, Gone: true}
	}
	body, err := json.Marshal(message{to.Chat, to.Thread, p.Text, p.Buttons})
	if err != nil {
		return "", fmt.Errorf("encode the message: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("send to the webhook: %w", apiclient.Redact(err))
	}
	now := time.Now()
	signature, err := a.signer.Sign(p.Key, now, body)
	if err != nil {
		return "", fmt.Errorf("sign the message: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(standardwebhooks.HeaderWebhookID, p.Key)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	res, err := a.Client.Do(r)
	if err != nil {
		return "", fmt.Errorf("send to the webhook: %w", apiclient.Redact(err))
	}
	defer res.Body.Close()
	switch code := res.StatusCode; {
	case code < http.StatusMultipleChoices:
		return p.Key, nil
	case code == http.StatusGone: // as Standard Webhooks says: do not send again
		return "", &service.SendError{Reason: "the program answered 410", Permanent: true, Gone: true}
	case code == http.StatusTooManyRequests:
		return "", &service.SendError{Reason: "rate limited", RetryAfter: apiclient.RetryAfter(res.Header)}
	default:
		return "", fmt.Errorf("send to the webhook: the program answered %d", code)
	}
}

// Check reports whether the account can send.
func (a *Adapter) Check(context.Context) error {
	if a.URL == "" {
		return fault.New(fault.Misconfigured, "account "+a.Account+" has no url", "set url to get the replies")
	}
	return nil
}

// Limits returns the limits of messages.
func (a *Adapter) Limits() channel.Limits {
	return channel.Limits{Units: a.Units, Parts: maxParts, Decides: true}
}
