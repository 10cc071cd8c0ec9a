package slacktest

import (
	"fmt"
	"net/http"
	"net/url"
)

// File is a file of a user.
type File struct {
	Name     string
	Type     string // MIME type
	Content  []byte
	External bool // stored elsewhere
}

func (s *Server) userInfo(args map[string]string) (object, string) {
	id := args["user"]
	p, ok := s.users[id]
	if id == BotUser {
		p, ok = person{"Cairn", true}, true
	}
	if !ok {
		return nil, "user_not_found"
	}
	return object{"user": object{"id": id, "team_id": team, "name": "user" + id, "deleted": false, "real_name": p.name,
		"tz": "Europe/Berlin", "is_bot": p.bot, "is_admin": false, "is_app_user": false, "updated": 1700000000,
		"profile": object{"real_name": p.name, "display_name": "", "team": team}}}, ""
}

// fileBody returns a file as events and methods have it.
func (s *Server) fileBody(id string, f File) object {
	address := fmt.Sprintf("%s/files-pri/%s-%s/download/%s", s.URL, team, id, url.PathEscape(f.Name))
	body := object{"id": id, "created": 1700000000, "timestamp": 1700000000, "name": f.Name, "title": f.Name,
		"mimetype": f.Type, "size": len(f.Content), "mode": "hosted", "is_external": f.External, "url_private": address,
		"url_private_download": address, "file_access": "visible"}
	if f.External {
		body["external_type"], body["mode"] = "gdrive", "external"
	}
	return body
}

func (s *Server) fileInfo(args map[string]string) (object, string) {
	f, ok := s.files[args["file"]]
	if !ok {
		return nil, "file_not_found"
	}
	return object{"file": s.fileBody(args["file"], f), "comments": []any{}}, ""
}

// download serves a file. Without the token of the bot it leads to the page to sign in, as Slack does.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+BotToken {
		http.Redirect(w, r, "/?redir="+url.QueryEscape(r.URL.Path), http.StatusFound)
		return
	}
	id := r.PathValue("file")
	s.mu.Lock()
	f, ok := s.files[id[min(len(team)+1, len(id)):]]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.Type)
	_, _ = w.Write(f.Content) // a write error means that the client has left
}

func (s *Server) signIn(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte("<html>Sign in</html>")) // a write error means that the client has left
}
