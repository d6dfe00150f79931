/*
 * The hands of an action, in the worker: mouse, keys and text as commands to
 * the browser, which gives them to the page as a person's. What the page makes
 * of them is looked at by the page's own script, see act.c.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "json/writer.h"
#include "page/priv.h"
#include "page/scripts.h"

static const struct key {
	const char *name;
	const char *code;
	int number;
	const char *text; /* as the inside of a JSON string */
} keys[] = {
#define KEY(name, code, number, text) { name, code, number, text },
#include "page/keys.def"
#undef KEY
};

/* The bits of a modifier in the browser's protocol. */
static const struct {
	const char *name;
	int bit;
} modifiers[] = {
	{ "Alt+", 1 },
	{ "Control+", 2 },
	{ "Ctrl+", 2 },
	{ "Meta+", 4 },
	{ "Shift+", 8 },
};

static void
input_mouse(
    struct page *p, const char *type, const char *rest, cdp_reply_cb *cb)
{
	char params[256];
	int len = snprintf(params, sizeof(params),
	    "{\"type\":\"%s\",\"x\":%s,\"y\":%s%s}", type, p->act.x, p->act.y,
	    rest);
	struct iovec iov = { params, (size_t)len };

	cdp_call(p->browser->cdp, p->session, "Input.dispatchMouseEvent", &iov,
	    1, p->act.input_ms, cb, cb != NULL ? p : NULL);
}

void
input_click(struct page *p, cdp_reply_cb *cb)
{
	input_mouse(p, "mouseMoved", "", NULL);
	input_mouse(p, "mousePressed",
	    ",\"button\":\"left\",\"buttons\":1,\"clickCount\":1", NULL);
	input_mouse(
	    p, "mouseReleased", ",\"button\":\"left\",\"clickCount\":1", cb);
}

void
input_text(struct page *p, const void *json, size_t len, cdp_reply_cb *cb)
{
	struct iovec iov[3] = { SCRIPT_LITERAL("{\"text\":"),
		{ (void *)(uintptr_t)json, len }, SCRIPT_LITERAL("}") };

	cdp_call(p->browser->cdp, p->session, "Input.insertText", iov, 3,
	    p->act.input_ms, NULL, NULL);
	/* Pages that listen to keys only look at the field now. */
	input_key(p, "Shift", cb);
}

static const char *
input_modifiers(const char *name, int *ret_bits)
{
	size_t i = 0;

	*ret_bits = 0;
	while (i < sizeof(modifiers) / sizeof(modifiers[0])) {
		size_t len = strlen(modifiers[i].name);

		if (strncmp(name, modifiers[i].name, len) != 0 ||
		    name[len] == '\0') {
			i++;
			continue;
		}
		*ret_bits |= modifiers[i].bit;
		name += len;
		i = 0;
	}
	return name;
}

/* One character is the key that writes it. */
static bool
input_char_key(const char *name, struct key *ret, char code[8])
{
	unsigned char c = (unsigned char)name[0];

	if (c <= ' ' || c >= 0x7f || name[1] != '\0')
		return false;
	*ret = (struct key){ name, "", 0, name };
	if (isalpha(c) || isdigit(c)) {
		snprintf(
		    code, 8, "%s%c", isalpha(c) ? "Key" : "Digit", toupper(c));
		*ret = (struct key){ name, code, toupper(c), name };
	}
	return true;
}

static bool
input_find_key(const char *name, struct key *ret, char code[8])
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(name, keys[i].name) == 0) {
			*ret = keys[i];
			return true;
		}
	}
	return input_char_key(name, ret, code);
}

bool
input_key_exists(const char *name)
{
	struct key key;
	char code[8];
	int bits;

	return input_find_key(input_modifiers(name, &bits), &key, code);
}

static void
input_send_key(struct page *p, const char *type, const struct key *key,
    int bits, bool with_text, cdp_reply_cb *cb)
{
	const char *name = strcmp(key->name, "Space") == 0 ? " " : key->name;
	char params[320], escaped[3] = "";
	struct iovec iov = { params, 0 };

	/* The two that JSON has another spelling for. */
	if (strcmp(name, "\"") == 0 || strcmp(name, "\\") == 0) {
		snprintf(escaped, sizeof(escaped), "\\%s", name);
		name = escaped;
	}
	iov.iov_len = (size_t)snprintf(params, sizeof(params),
	    "{\"type\":\"%s\",\"key\":\"%s\",\"code\":\"%s\","
	    "\"windowsVirtualKeyCode\":%d,\"modifiers\":%d%s%s%s}",
	    type, name, key->code, key->number, bits,
	    with_text ? ",\"text\":\"" : "",
	    !with_text             ? ""
		: *escaped != '\0' ? escaped
				   : key->text,
	    with_text ? "\"" : "");
	cdp_call(p->browser->cdp, p->session, "Input.dispatchKeyEvent", &iov, 1,
	    p->act.input_ms, cb, cb != NULL ? p : NULL);
}

void
input_key(struct page *p, const char *name, cdp_reply_cb *cb)
{
	struct key key;
	char code[8];
	int bits;
	bool text;

	name = input_modifiers(name, &bits);
	if (!input_find_key(name, &key, code))
		return;
	/* With these held down a key writes nothing. */
	text = key.text[0] != '\0' && (bits & ~8) == 0;
	input_send_key(
	    p, text ? "keyDown" : "rawKeyDown", &key, bits, text, NULL);
	input_send_key(p, "keyUp", &key, bits, false, cb);
}
