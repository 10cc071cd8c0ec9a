// Package telegram connects a bot of Telegram: Bot API 9.4, long polling.
//
// The library's own polling loop confirms updates before they are handled, so the loop is Cairn's: the next request
// confirms the updates before its offset, and is sent after they are stored.
package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
)

// Options configures an account.
type Options struct {
	Account string
	Token   string // from @BotFather
	API     string // URL of the server; empty means Telegram's own
}

// Adapter connects an account.
type Adapter struct {
	Options
	bot    *bot.Bot
	client *http.Client
}

var (
	_ service.Adapter   = (*Adapter)(nil)
	_ service.Streamer  = (*Adapter)(nil)
	_ service.Previewer = (*Adapter)(nil)
	_ service.Typer     = (*Adapter)(nil)
	_ service.Fetcher   = (*Adapter)(nil)
	_ service.Menu      = (*Adapter)(nil)
)

const telegramAPI = "https://api.telegram.org"

// Times of requests.
const (
	pollTime    = 25 * time.Second // that the server waits for an update
	sendTime    = 20 * time.Second
	releaseTime = 5 * time.Second // of confirming the pressed buttons of a poll, while the next one waits
)

// New returns an Adapter. It sends no request.
func New(o Options) (*Adapter, error) {
	if !strings.Contains(o.Token, ":") {
		return nil, fault.New(fault.Misconfigured, "missing token of account "+o.Account,
			"set token to the one that @BotFather gave you")
	}
	if o.API == "" {
		o.API = telegramAPI
	}
	o.API = strings.TrimRight(o.API, "/")
	client := &http.Client{Timeout: pollTime + sendTime}
	b, err := bot.New(o.Token, bot.WithSkipGetMe(), bot.WithServerURL(o.API), bot.WithHTTPClient(sendTime, client))
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "open account "+o.Account, "check its token")
	}
	return &Adapter{o, b, client}, nil
}

// Receive polls for updates. The cursor is the offset of the next one.
func (a *Adapter) Receive(ctx context.Context, cursor string, accept service.Accept) error {
	me, err := a.bot.GetMe(ctx)
	if err != nil {
		return a.redact(err)
	}
	offset, _ := strconv.ParseInt(cursor, 10, 64) // empty at first: 0 gets what Telegram keeps
	for ctx.Err() == nil {
		updates, next, err := a.poll(ctx, offset)
		if err != nil {
			return err
		}
		if next == 0 {
			continue
		}
		var events []channel.Event
		for _, u := range updates {
			if e, ok := a.eventOf(u, me); ok {
				events = append(events, e)
			}
		}
		offset = next
		if err := accept(ctx, events, strconv.FormatInt(offset, 10)); err != nil {
			return err
		}
		a.release(ctx, updates)
	}
	return ctx.Err()
}

// release ends the waiting sign of pressed buttons. It also disappears by itself.
func (a *Adapter) release(ctx context.Context, updates []models.Update) {
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	for _, u := range updates {
		if u.CallbackQuery != nil {
			_, _ = a.bot.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: u.CallbackQuery.ID})
		}
	}
}

// response is the form of all responses of the server.
type response struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Description string          `json:"description"`
	Code        int             `json:"error_code"`
}

// poll returns the updates from an offset on, and the offset after them, which is 0 without updates. It confirms the
// earlier ones.
func (a *Adapter) poll(ctx context.Context, offset int64) (updates []models.Update, next int64, err error) {
	query := url.Values{"timeout": {strconv.Itoa(int(pollTime.Seconds()))}, "offset": {strconv.FormatInt(offset, 10)},
		"allowed_updates": {`["message","edited_message","callback_query"]`}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.API+"/bot"+a.Token+"/getUpdates?"+query.Encode(), nil)
	if err != nil {
		return nil, 0, a.redact(err)
	}
	res, err := a.client.Do(r)
	if err != nil {
		return nil, 0, a.redact(err)
	}
	defer res.Body.Close()
	var body response
	if err := json.NewDecoder(io.LimitReader(res.Body, maxUpdates)).Decode(&body); err != nil {
		return nil, 0, fmt.Errorf("read updates: status %d: %w", res.StatusCode, err)
	}
	if !body.OK {
		return nil, 0, fmt.Errorf("read updates: %d %s", body.Code, body.Description)
	}
	return decodeUpdates(body.Result)
}

// eventOf converts an update. Ok is false for one that Cairn does not read.
func (a *Adapter) eventOf(u models.Update, me *models.User) (e channel.Event, ok bool) {
	e = channel.Event{Key: strconv.FormatInt(u.ID, 10), Kind: channel.Message}
	m := u.Message
	if m == nil && u.EditedMessage != nil {
		m, e.Kind = u.EditedMessage, channel.Edited
	}
	switch {
	case m != nil && m.From != nil:
		e.Place, e.Group = placeOf(a.Account, m), m.Chat.Type != models.ChatTypePrivate
		e.Sender, e.MessageID = senderOf(*m.From), strconv.Itoa(m.ID)
		e.At, e.Attachments = time.Unix(int64(max(m.Date, m.EditDate)), 0), attachmentsOf(m)
		text := textOf(m)
		e.Text, e.Mentioned = text.without(me)
		named := text.addressee()
		e.Mentioned = e.Mentioned || named != "" || repliesTo(m, me)
		switch {
		case named != "" && !strings.EqualFold(named, me.Username): // a command for another bot
			return e, false
		case len(text.units) == 0 && len(e.Attachments) == 0 && (e.Kind == channel.Edited || !isSaid(m)):
			return e, false // a notice, or a shared place that moves
		}
		return e, true
	case u.CallbackQuery != nil && u.CallbackQuery.Message.Message != nil:
		m := u.CallbackQuery.Message.Message
		e.Kind, e.Place, e.Group = channel.Button, placeOf(a.Account, m), m.Chat.Type != models.ChatTypePrivate
		e.Sender, e.Text, e.At = senderOf(u.CallbackQuery.From), u.CallbackQuery.Data, time.Now()
		e.MessageID = strconv.Itoa(m.ID)
		return e, true
	}
	return e, false
}

// attachmentsOf returns the files of a message, of a photo the largest size.
func attachmentsOf(m *models.Message) (out []channel.Attachment) {
	if n := len(m.Photo); n > 0 {
		p := m.Photo[n-1]
		out = append(out, channel.Attachment{Ref: p.FileID, Type: "image/jpeg", Size: int64(p.FileSize)})
	}
	if d := m.Document; d != nil {
		out = append(out, channel.Attachment{Ref: d.FileID, Name: d.FileName, Type: d.MimeType, Size: d.FileSize})
	}
	if v := m.Voice; v != nil {
		out = append(out, channel.Attachment{Ref: v.FileID, Type: cmp.Or(v.MimeType, "audio/ogg"), Size: v.FileSize})
	}
	if v := m.Audio; v != nil {
		out = append(out, channel.Attachment{Ref: v.FileID, Name: v.FileName, Type: v.MimeType, Size: v.FileSize})
	}
	return out
}

func placeOf(account string, m *models.Message) channel.Place {
	p := channel.Place{Account: account, Chat: strconv.FormatInt(m.Chat.ID, 10)}
	if m.IsTopicMessage {
		p.Thread = strconv.Itoa(m.MessageThreadID)
	}
	return p
}

func senderOf(u models.User) channel.Sender {
	return channel.Sender{ID: strconv.FormatInt(u.ID, 10), Name: strings.TrimSpace(u.FirstName + " " + u.LastName),
		Bot: u.IsBot}
}

// Typing shows for 5 seconds that a reply is being written.
func (a *Adapter) Typing(ctx context.Context, to channel.Place) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	params := &bot.SendChatActionParams{ChatID: to.Chat, Action: models.ChatActionTyping}
	params.MessageThreadID, _ = strconv.Atoi(to.Thread) // 0 without a thread
	_, err := a.bot.SendChatAction(ctx, params)
	return a.redact(err)
}

// Fetch reads a file.
func (a *Adapter) Fetch(ctx context.Context, file channel.Attachment) (io.ReadCloser, error) {
	f, err := a.bot.GetFile(ctx, &bot.GetFileParams{FileID: file.Ref})
	if err != nil {
		return nil, a.redact(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.API+"/file/bot"+a.Token+"/"+f.FilePath, nil)
	if err != nil {
		return nil, a.redact(err)
	}
	res, err := a.client.Do(r)
	if err != nil {
		return nil, a.redact(err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("read a file: status %d", res.StatusCode)
	}
	return res.Body, nil
}

// redact removes the token, which is a part of the URL.
func (a *Adapter) redact(err error) error { return apiclient.Redact(err, a.Token) }

// Check asks the server whether it accepts the token.
func (a *Adapter) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if _, err := a.bot.GetMe(ctx); err != nil {
		return fault.Wrap(a.redact(err), fault.Misconfigured, "Telegram does not accept account "+a.Account,
			"check its token, and that this machine reaches "+a.API)
	}
	return nil
}

// Limits returns the limits of messages.
func (a *Adapter) Limits() channel.Limits {
	return channel.Limits{Units: 4096, Parts: 5, Spacing: time.Second, PerSecond: 30, Changes: 600}
}
