package httpapi_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

func encrypting(c *config.Config) {
	c.PayloadKeys = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	c.TemporalUI, c.RateLimit = "http://127.0.0.1:8233/", 1
}

// Temporal's remote codec client decrypts the payloads of workflows with an
// operator's key.
func TestTemporalsProgramsDecryptWithAnOperatorKey(t *testing.T) {
	t.Parallel()
	b := idle(t, encrypting)
	operator := b.operatorKey(access.Codec)
	stored, err := b.Payloads.ToPayloads("message +49 30 1234", 7)
	testkit.Must(t, err)
	remote := func(authorization string) converter.PayloadCodec {
		return converter.NewRemotePayloadCodec(
			converter.RemotePayloadCodecOptions{Endpoint: b.url + httpapi.CodecPath,
				ModifyRequest: func(r *http.Request) error {
					r.Header.Set("Authorization", authorization)
					return nil
				}})
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+operator))
	for range 20 { // as many as a page shows: more than the key's rate
		for _, authorization := range []string{"Bearer " + operator, basic} {
			plain, err := remote(authorization).Decode(stored.Payloads)
			if err != nil || len(plain) != 2 || string(plain[0].Data) != `"message +49 30 1234"` ||
				string(plain[1].Data) != "7" {
				t.Fatalf("decoded %v, %v", plain, err)
			}
		}
	}
	plain, err := converter.GetDefaultDataConverter().ToPayload("back")
	testkit.Must(t, err)
	again, err := remote("Bearer " + operator).Encode([]*commonpb.Payload{plain})
	testkit.Must(t, err)
	var said string
	if err := b.Payloads.FromPayload(again[0], &said); err != nil || said != "back" ||
		strings.Contains(string(again[0].Data), "back") {
		t.Errorf("encoded %s, read as %q, %v", again[0].Data, said, err)
	}
	admin := b.makeKey(b.Workspace, access.Read, access.Write, access.Admin)
	for _, authorization := range []string{"", "Bearer cairn_none", "Bearer " + admin,
		"Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+admin)),
		"Bearer " + b.operatorKey(access.Metrics, access.Support), "Bearer " + operator[:len(operator)-1] + "~",
		"Basic " + base64.StdEncoding.EncodeToString([]byte(operator+":"))} {
		if plain, err := remote(authorization).Decode(stored.Payloads); err == nil {
			t.Errorf("%.12q decodes %v", authorization, plain)
		}
	}
}

// A browser lets only the page of Temporal UI read the responses.
func TestOnlyThePageOfTemporalUIDecrypts(t *testing.T) {
	t.Parallel()
	b := idle(t, encrypting)
	const path = httpapi.CodecPath + "/decode"
	b.key = b.operatorKey(access.Codec)
	for origin, allowed := range map[string]bool{"http://127.0.0.1:8233": true, "http://localhost:8233": true,
		"https://127.0.0.1:8233": false, "http://127.0.0.1:8234": false, "http://ui.example:8233": false,
		"null": false} {
		asked := b.do(request{method: http.MethodOptions, path: path,
			header: map[string]string{"Origin": origin, "Authorization": "", "Access-Control-Request-Method": "POST",
				"Access-Control-Request-Headers": "content-type,x-namespace"}})
		sent := b.do(request{method: http.MethodPost, path: path, body: `{"payloads":[]}`,
			header: map[string]string{"Origin": origin, "X-Namespace": "default"}})
		if !allowed {
			asked.refused(fault.OutOfScope)
			sent.refused(fault.OutOfScope)
			continue
		}
		if asked.status != http.StatusNoContent || asked.header.Get("Access-Control-Allow-Origin") != origin ||
			asked.header.Get("Access-Control-Allow-Credentials") != "true" ||
			asked.header.Get("Access-Control-Allow-Methods") != "POST" ||
			!strings.Contains(asked.header.Get("Access-Control-Allow-Headers"), "X-Namespace") {
			t.Errorf("%s is asked: %d %v", origin, asked.status, asked.header)
		}
		if sent.into(http.StatusOK, nil); sent.header.Get("Access-Control-Allow-Origin") != origin ||
			sent.header.Get("Vary") != "Origin" || sent.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is answered: %v", origin, sent.header)
		}
		refused := b.do(request{method: http.MethodPost, path: path, key: "none",
			header: map[string]string{"Origin": origin}})
		if refused.refused(fault.Unauthenticated); refused.header.Get("Access-Control-Allow-Origin") != origin {
			t.Error("the page cannot read why it was refused")
		}
	}
	signIn := b.do(request{path: httpapi.CodecPath + "/", header: map[string]string{"Authorization": ""}})
	if signIn.refused(fault.Unauthenticated); !strings.HasPrefix(signIn.header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("the browser does not ask for a key: %v", signIn.header)
	}
	if in := b.do(request{path: httpapi.CodecPath + "/",
		header: map[string]string{"Authorization": "Basic " +
			base64.StdEncoding.EncodeToString([]byte("me:"+b.key))}}); in.status != http.StatusOK {
		t.Errorf("signing in: %d %s", in.status, in.body)
	}
	b.do(request{method: http.MethodPost, path: path, body: "{"}).refused(fault.InvalidArgument)
	foreign := `{"payloads":[{"metadata":{"encoding":"` +
		base64.StdEncoding.EncodeToString([]byte("binary/encrypted")) + `","encryption-key-id":"b2xk"},"data":"AAAA"}]}`
	if p := b.do(request{method: http.MethodPost, path: path, body: foreign}).
		refused(fault.InvalidArgument); !strings.Contains(p.Message, `"old"`) {
		t.Errorf("message for an unknown key: %q", p.Message)
	}
}

func TestWithoutKeysThereIsNoCodec(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.post(httpapi.CodecPath+"/decode", `{"payloads":[]}`).refused(fault.NotFound)
	b.get(httpapi.CodecPath + "/").refused(fault.NotFound)
}
