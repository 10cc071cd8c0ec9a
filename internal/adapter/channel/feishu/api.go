package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// serializer does not escape HTML in JSON, so that messages stay small.
type serializer struct{ larkcore.DefaultSerialization }

// Serialize encodes v.
func (serializer) Serialize(v any) ([]byte, error) { return encode(v) }

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// apiError is how the server refuses a request.
type apiError struct {
	status, code int
	message      string
	after        time.Duration // of a rate limit
}

func (e *apiError) Error() string {
	return fmt.Sprintf("Feishu answered %d with status %d: %s", e.code, e.status, e.message)
}

// Codes of errors.
const (
	codeToken        = 99991663 // the token is not valid any more
	codeBusy         = 99991400
	codeBusyChat     = 230020
	codeCard         = 230099 // the card cannot be shown
	codeRecalled     = 230011
	codeTooOld       = 230031 // a message can be changed for 14 days
	codeBeingSent    = 230049 // an earlier request with the same uuid is not finished
	codeBotOff       = 230006
	codeNoPermission = 230027
)

// permanent are the codes of messages that will never be sent.
var permanent = map[int]bool{
	230001: true, // a parameter is not valid
	230009: true, // the message is too old to be recalled
	230022: true, // the content is forbidden
	230025: true, // the message is too long
	230026: true, // the bot may not recall the message
	230028: true, // a rule of the tenant forbids the content
}

// gone are the codes of chats and threads that get no message of the bot.
var gone = map[int]bool{
	230002: true, // the bot is not in the chat
	230011: true, // the message, or the first one of the thread, was recalled
	230013: true, // the user may not use the bot
	230018: true, // the chat does not allow the bot to write
	230019: true, // the thread does not exist
	230029: true, // the user has left the tenant
	230034: true, // the chat ID is not valid
	230035: true, // the bot may not write to the chat
	230038: true, // the user belongs to another tenant
	230053: true, // the user has stopped the bot
	230110: true, // the first message of the thread was deleted
	232009: true, // the chat was dissolved
}

// request sends a request with the token of the tenant, and decodes the response into out. A token that is not valid
// any more is renewed once. Values whose names begin with a colon replace that part of the path; others are the query.
func (a *Adapter) request(ctx context.Context, method, path string, values map[string]string, body, out any) error {
	r := &larkcore.ApiReq{HttpMethod: method, ApiPath: path, Body: body, PathParams: larkcore.PathParams{},
		QueryParams:               larkcore.QueryParams{},
		SupportedAccessTokenTypes: []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant}}
	for name, value := range values {
		if part, ok := strings.CutPrefix(name, ":"); ok {
			r.PathParams.Set(part, value)
		} else {
			r.QueryParams.Set(name, value)
		}
	}
	return a.token.Do(ctx, func(token string) error {
		res, err := larkcore.Request(ctx, r, a.config, larkcore.WithTenantAccessToken(token))
		if err != nil {
			return a.redact(err, token)
		}
		return a.redact(decode(res.StatusCode, res.Header, res.RawBody, out), token)
	}, isOldToken)
}

// isOldToken reports whether the server refused a request because the token is not valid any more.
func isOldToken(err error) bool {
	var refused *apiError
	return errors.As(err, &refused) && refused.code == codeToken
}

// decode reads a response, and returns an apiError if the server refuses.
func decode(status int, header http.Header, raw []byte, out any) error {
	var head struct {
		Code    int    `json:"code"`
		Message string `json:"msg"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("read the response: status %d: %w", status, err)
	}
	if head.Code != 0 || status >= http.StatusBadRequest {
		return &apiError{status, head.Code, head.Message, apiclient.Seconds(header.Get("x-ogw-ratelimit-reset"))}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(raw, out)
}

// fetchToken asks for the token of the tenant.
func (a *Adapter) fetchToken(ctx context.Context) (value string, valid time.Duration, err error) {
	res, err := larkcore.Request(ctx, &larkcore.ApiReq{
		HttpMethod: http.MethodPost,
		ApiPath:    larkcore.TenantAccessTokenInternalUrlPath,
		Body:       &larkcore.SelfBuiltTenantAccessTokenReq{AppID: a.AppID, AppSecret: a.AppSecret},
	}, a.config)
	if err != nil {
		return "", 0, a.redact(err)
	}
	var body larkcore.TenantAccessTokenResp
	err = decode(res.StatusCode, res.Header, res.RawBody, &body)
	return body.TenantAccessToken, time.Duration(body.Expire) * time.Second, a.redact(err)
}

// redact removes the credentials from an error.
func (a *Adapter) redact(err error, more ...string) error {
	return apiclient.Redact(err, append(more, a.AppSecret)...)
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
	case !errors.As(err, &e), e.code == codeBeingSent:
		return err
	case e.status == http.StatusTooManyRequests, e.code == codeBusy, e.code == codeBusyChat:
		return &service.SendError{Reason: "rate limited", RetryAfter: max(e.after, time.Second)}
	case e.status >= http.StatusInternalServerError:
		return err
	case e.code == codeBotOff, e.code == codeNoPermission, e.code == codeToken:
		return &service.SendError{Reason: err.Error(), RetryAfter: time.Minute}
	}
	return &service.SendError{Reason: err.Error(), Permanent: permanent[e.code] || gone[e.code], Gone: gone[e.code]}
}

// Fetch reads an attachment.
func (a *Adapter) Fetch(ctx context.Context, file channel.Attachment) (body io.ReadCloser, err error) {
	parts := strings.Split(file.Ref, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("invalid reference of an attachment: %.60q", file.Ref)
	}
	address := a.API + "/open-apis/im/v1/messages/" + url.PathEscape(parts[0]) + "/resources/" +
		url.PathEscape(parts[2]) + "?type=" + url.QueryEscape(parts[1])
	err = a.token.Do(ctx, func(token string) error {
		body, err = a.download(ctx, address, token)
		return a.redact(err, token)
	}, isOldToken)
	return body, err
}

func (a *Adapter) download(ctx context.Context, address, token string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := a.files.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 4096)) // an error shows in decode
	if err := decode(res.StatusCode, res.Header, raw, nil); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("read an attachment: status %d", res.StatusCode)
}
