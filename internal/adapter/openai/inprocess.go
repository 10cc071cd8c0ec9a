package openai

import (
	"net/http"
	"net/http/httptest"
)

// InProcess returns a client that calls an endpoint in this process, without a socket. It accepts
// any host.
func InProcess(endpoint http.Handler) *http.Client {
	return &http.Client{Transport: inProcess{endpoint}}
}

type inProcess struct{ endpoint http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	served := r.Clone(r.Context()) // a transport must not change its request
	if served.Body == nil {
		served.Body = http.NoBody
	}
	defer served.Body.Close()
	reply := httptest.NewRecorder()
	t.endpoint.ServeHTTP(reply, served)
	response := reply.Result()
	response.Request = r
	return response, nil
}
