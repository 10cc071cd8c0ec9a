package telegram

import (
	"context"
	"errors"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// noPreviews keeps Telegram from fetching the links of a message: a link in a reply can contain what others should not
// get.
var noPreviews = &models.LinkPreviewOptions{IsDisabled: bot.True()}

// withMarkup sends a text as HTML. If the server does not accept the markup, it sends the text as it is.
func withMarkup(text string, send func(text string, mode models.ParseMode) error) error {
	html := HTML(text)
	if html == "" { // such as an image without a description, or only definitions of links
		return send(text, "")
	}
	err := send(html, models.ParseModeHTML)
	if refusesMarkup(err) {
		err = send(text, "")
	}
	return err
}

// threadOf returns the number of the thread of a place, 0 without one.
func threadOf(to channel.Place) (int, error) {
	if to.Thread == "" {
		return 0, nil
	}
	id, err := strconv.Atoi(to.Thread)
	if err != nil {
		return 0, &service.SendError{Reason: "invalid thread", Permanent: true}
	}
	return id, nil
}

// numberOf returns the number of a message.
func numberOf(messageID string) (int, error) {
	id, err := strconv.Atoi(messageID)
	if err != nil {
		return 0, &service.SendError{Reason: "invalid ID of a message", Permanent: true}
	}
	return id, nil
}

// Send sends a message.
func (a *Adapter) Send(ctx context.Context, to channel.Place, p channel.Part) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	params := &bot.SendMessageParams{ChatID: to.Chat, LinkPreviewOptions: noPreviews}
	if params.MessageThreadID, err = threadOf(to); err != nil {
		return "", err
	}
	if len(p.Buttons) > 0 {
		params.ReplyMarkup = keyboard(p.Buttons)
	}
	err = withMarkup(p.Text, func(text string, mode models.ParseMode) error {
		params.Text, params.ParseMode = text, mode
		m, err := a.bot.SendMessage(ctx, params)
		if err == nil {
			id = strconv.Itoa(m.ID)
		}
		return err
	})
	if err != nil {
		return "", a.refusal(err)
	}
	return id, nil
}

// Edit replaces the text of a message. It is no error if the message has this text.
func (a *Adapter) Edit(ctx context.Context, to channel.Place, messageID, text string) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	id, err := numberOf(messageID)
	if err != nil {
		return err
	}
	err = withMarkup(text, func(text string, mode models.ParseMode) error {
		_, err := a.bot.EditMessageText(ctx, &bot.EditMessageTextParams{ChatID: to.Chat, MessageID: id, Text: text,
			ParseMode: mode, LinkPreviewOptions: noPreviews})
		return err
	})
	if err != nil && !strings.Contains(err.Error(), "message is not modified") {
		return a.refusal(err)
	}
	return nil
}

// Delete deletes a message. It is no error if there is none.
func (a *Adapter) Delete(ctx context.Context, to channel.Place, messageID string) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	id, err := numberOf(messageID)
	if err != nil {
		return err
	}
	_, err = a.bot.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: to.Chat, MessageID: id})
	if err != nil && !strings.Contains(err.Error(), "message to delete not found") {
		return a.refusal(err)
	}
	return nil
}

// Times of partial replies.
const (
	previewEvery = 1500 * time.Millisecond
	previewTime  = 30 * time.Second
	editEvery    = 3 * time.Second // a bot may send 20 messages in a minute to a group
)

// Pace returns how a partial reply is shown: a private chat has previews, of a group a message is changed. The IDs of
// groups are negative.
func (a *Adapter) Pace(to channel.Place) channel.Pace {
	if strings.HasPrefix(to.Chat, "-") {
		return channel.Pace{Every: editEvery}
	}
	return channel.Pace{Every: previewEvery, Preview: previewTime}
}

// Preview shows a text in a private chat for 30 seconds, or until the bot sends a message.
func (a *Adapter) Preview(ctx context.Context, to channel.Place, key, text string) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	thread, err := threadOf(to)
	if err != nil {
		return err
	}
	err = withMarkup(text, func(text string, mode models.ParseMode) error {
		_, err := a.bot.SendMessageDraft(ctx, &bot.SendMessageDraftParams{ChatID: to.Chat, MessageThreadID: thread,
			DraftID: draftOf(key), Text: text, ParseMode: mode})
		return err
	})
	if err != nil {
		return a.refusal(err)
	}
	return nil
}

// draftOf derives the number of a preview, which is not 0.
func draftOf(key string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key)) // never fails
	return strconv.Itoa(int(sum.Sum32()>>1) | 1)
}

func keyboard(all []channel.Choice) models.InlineKeyboardMarkup {
	var row []models.InlineKeyboardButton
	for _, c := range all {
		row = append(row, models.InlineKeyboardButton{Text: c.Label, CallbackData: c.Data})
	}
	return models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{row}}
}

// refusal converts an error of a request. Errors that leave the outcome unknown are returned as they are.
func (a *Adapter) refusal(err error) error {
	var busy *bot.TooManyRequestsError
	var moved *bot.MigrateError // a group has another ID now; its next message has it
	err = a.redact(err)
	switch {
	case errors.As(err, &busy):
		return &service.SendError{Reason: "rate limited", RetryAfter: time.Duration(busy.RetryAfter) * time.Second}
	case errors.Is(err, bot.ErrorForbidden), errors.As(err, &moved):
		return &service.SendError{Reason: err.Error(), Permanent: true, Gone: true}
	case errors.Is(err, bot.ErrorBadRequest):
		return &service.SendError{Reason: err.Error(), Permanent: true, Gone: hasAny(err.Error(), gone...)}
	case errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound): // the token; nothing was sent
		return &service.SendError{Reason: err.Error(), RetryAfter: time.Minute}
	}
	return err
}
