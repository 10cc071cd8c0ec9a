package dingtalk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// apiError is how the server refuses a request.
type apiError struct {
	status  int
	code    string
	message string
	after   time.Duration // of a rate limit, if the server states it
}

func (e *apiError) Error() string {
	return fmt.Sprintf("DingTalk answered %s with status %d: %s", e.code, e.status, e.message)
}

// maxResponse is the size of a response that is read.
const maxResponse = 1 << 20

// post sends a request and decodes the response into out.
func (a *Adapter) post(ctx context.Context, path, token string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.API+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if token != "" {
		r.Header.Set("x-acs-dingtalk-access-token", token)
	}
	res, err := a.client.Do(r)
	if err != nil {
		return a.redact(err, token)
	}
	defer res.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return a.redact(err, token)
	}
	if res.StatusCode == http.StatusOK {
		return json.Unmarshal(raw, out)
	}
	var refused struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(raw, &refused) // the status says enough
	return a.redact(&apiError{res.StatusCode, refused.Code, refused.Message, apiclient.RetryAfter(res.Header)}, token)
}

// request is post with the token of the app. A token that is not valid any more is renewed once.
func (a *Adapter) request(ctx context.Context, path string, body, out any) error {
	return a.token.Do(ctx, func(token string) error { return a.post(ctx, path, token, body, out) },
		func(err error) bool {
			var refused *apiError
			return errors.As(err, &refused) && refused.status == http.StatusUnauthorized
		})
}

// fetchToken asks for the token of the app.
func (a *Adapter) fetchToken(ctx context.Context) (value string, valid time.Duration, err error) {
	var body struct {
		AccessToken string `json:"accessToken"`
		ExpireIn    int    `json:"expireIn"` // seconds
	}
	err = a.post(ctx, "/v1.0/oauth2/accessToken", "",
		map[string]string{"appKey": a.ClientID, "appSecret": a.ClientSecret}, &body)
	return body.AccessToken, time.Duration(body.ExpireIn) * time.Second, err
}

// redact removes the credentials from an error.
func (a *Adapter) redact(err error, more ...string) error {
	return apiclient.Redact(err, append(more, a.ClientSecret)...)
}

// busyTime is how long to wait after a rate limit, for which DingTalk states no time.
const busyTime = time.Minute

// busyWords are parts of the codes of rate limits, goneWords of those of chats that get no more messages, and
// wrongWords of those of messages that DingTalk never accepts. All are in lower case.
var (
	busyWords = []string{"qpslimit", "throttl", "flowcontrol", "toomanyrequests", "ratelimit", "frequency"}
	goneWords = []string{"disbanded", "notexist", "invalid.openconversationid", "bot.stopped", "robotnotingroup",
		"robot.not.in"}
	wrongWords = []string{"invalidparameter", "miss."}
)

func hasAny(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// refusal converts an error of a request. Errors that leave the outcome unknown are returned as they are.
func refusal(err error) error {
	var noToken *apiclient.NoTokenError
	var e *apiError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &noToken):
		return &service.SendError{Reason: err.Error(), RetryAfter: time.Minute}
	case !errors.As(err, &e):
		return err
	case e.status == http.StatusTooManyRequests, hasAny(e.code, busyWords):
		return &service.SendError{Reason: "rate limited", RetryAfter: max(e.after, busyTime)}
	case e.status >= http.StatusInternalServerError:
		return err
	case hasAny(e.code, goneWords):
		return &service.SendError{Reason: err.Error(), Permanent: true, Gone: true}
	case hasAny(e.code, wrongWords):
		return &service.SendError{Reason: err.Error(), Permanent: true}
	}
	return &service.SendError{Reason: err.Error(), RetryAfter: time.Minute} // a permission, for example
}

// Fetch reads an attachment.
func (a *Adapter) Fetch(ctx context.Context, file channel.Attachment) (io.ReadCloser, error) {
	var body struct {
		URL string `json:"downloadUrl"`
	}
	err := a.request(ctx, "/v1.0/robot/messageFiles/download",
		map[string]string{"downloadCode": file.Ref, "robotCode": a.RobotCode}, &body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, body.URL, nil)
	if err != nil {
		return nil, errors.New("the server states an invalid URL of the file")
	}
	res, err := a.files.Do(r)
	if err != nil {
		return nil, a.redact(err)
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("download the file: status %d", res.StatusCode)
	}
	return res.Body, nil
}
