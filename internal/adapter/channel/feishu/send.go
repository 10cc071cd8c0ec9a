package feishu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"time"

	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// Send sends a message as a card. If the server cannot show the card, it sends the text as it is.
func (a *Adapter) Send(ctx context.Context, to channel.Place, p channel.Part) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	card, err := Card(p.Text, p.Buttons, to.Thread)
	if err != nil {
		return "", err
	}
	id, err = a.post(ctx, to, p.Key, larkim.MsgTypeInteractive, card)
	var refused *apiError
	if errors.As(err, &refused) && refused.code == codeCard {
		plain, err := encode(map[string]string{"text": plainText(p)})
		if err != nil {
			return "", err
		}
		id, err = a.post(ctx, to, p.Key, larkim.MsgTypeText, string(plain))
		return id, refusal(err)
	}
	return id, refusal(err)
}

// atTag begins a tag that mentions a user or everybody.
var atTag = regexp.MustCompile(`(?i)<(at\b)`)

// plainText returns a message without a card. Buttons become commands, and no tag mentions a user.
func plainText(p channel.Part) string {
	out := p.Text
	for _, c := range p.Buttons {
		out += "\n" + c.Label + ": " + c.Command()
	}
	return atTag.ReplaceAllString(out, "<\u200b$1") // a space of no width
}

// post sends a message to a chat or a thread. The server recognizes the key of one that it has.
func (a *Adapter) post(ctx context.Context, to channel.Place, key, kind, content string) (id string, err error) {
	uuid := uuidOf(key)
	var res struct {
		Data larkim.CreateMessageRespData `json:"data"`
	}
	if to.Thread == "" {
		err = a.request(ctx, http.MethodPost, "/open-apis/im/v1/messages",
			map[string]string{"receive_id_type": larkim.ReceiveIdTypeChatId},
			&larkim.CreateMessageReqBody{ReceiveId: &to.Chat, MsgType: &kind, Content: &content, Uuid: &uuid}, &res)
	} else {
		inThread := true
		err = a.request(ctx, http.MethodPost, "/open-apis/im/v1/messages/:message_id/reply",
			map[string]string{":message_id": to.Thread},
			&larkim.ReplyMessageReqBody{ReplyInThread: &inThread, MsgType: &kind, Content: &content, Uuid: &uuid}, &res)
	}
	return value(res.Data.MessageId), err
}

// uuidLength is below the 50 characters that the server allows.
const uuidLength = 40

// uuidOf returns the name under which the server recognizes a message.
func uuidOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:uuidLength]
}

// Edit replaces the text of a message, and removes its buttons.
func (a *Adapter) Edit(ctx context.Context, _ channel.Place, messageID, text string) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	card, err := Card(text, nil, "")
	if err != nil {
		return err
	}
	err = a.request(ctx, http.MethodPatch, "/open-apis/im/v1/messages/:message_id",
		map[string]string{":message_id": messageID}, &larkim.PatchMessageReqBody{Content: &card}, nil)
	var refused *apiError
	if errors.As(err, &refused) && (refused.code == codeCard || refused.code == codeTooOld) {
		return &service.SendError{Reason: refused.Error(), Permanent: true}
	}
	return refusal(err)
}

// Delete recalls a message of the bot. It is no error if there is none.
func (a *Adapter) Delete(ctx context.Context, _ channel.Place, messageID string) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	err := a.request(ctx, http.MethodDelete, "/open-apis/im/v1/messages/:message_id",
		map[string]string{":message_id": messageID}, nil, nil)
	var refused *apiError
	if errors.As(err, &refused) && refused.code == codeRecalled {
		return nil
	}
	return refusal(err)
}

// changeEvery is the time between two changes of a message. Feishu allows five in a second.
const changeEvery = time.Second

// Pace returns how a partial reply is shown.
func (a *Adapter) Pace(channel.Place) channel.Pace { return channel.Pace{Every: changeEvery} }
