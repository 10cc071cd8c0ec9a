// Package console serves the web pages for people who use, review and operate Cairn. The pages work as plain links
// and forms: without JavaScript, a page is reloaded where a script would update it.
//
// The console calls the services behind the JSON routes and has no SQL. It accepts only its own cookie, and the API
// accepts only keys:
//
//	handler := console.New(services, console.Options{}) // serves /console/
//
// Text of users appears in three ways only: escaped by html/template, in marked, which also shows invisible
// characters, and as Markdown, which package markdown sanitizes.
package console
