-- canary: fills a login form and lets everything that the page then says go
-- wherever a text can go. For secrets.t; never installed.
local template = {
	id = "canary",
	version = "1.0.0",
	name = "Canary",
	description = "Says all it knows, wherever something can be said.",
	inputs = {
		type = "object",
		additionalProperties = false,
		required = { "url", "login" },
		properties = {
			url = { type = "string" },
			how = { enum = { "end", "fail", "hang" } },
			login = {
				type = "object",
				additionalProperties = false,
				required = { "user", "password" },
				properties = {
					user = { type = "string",
						writeOnly = true },
					password = { type = "string",
						minLength = 4,
						writeOnly = true },
					pin = { type = "integer",
						maximum = 9007199254740991,
						writeOnly = true },
				},
			},
		},
	},
	outputs = { type = "object" },
	limits = { maxUrls = 1, maxConcurrency = 1, maxTimeoutMs = 120000 },
	trustLevelSupport = { "local" },
	executionMode = "async",
	supportsPartialSuccess = true,
	restartSafe = true,
	items = true,
	resources = "all",
	exampleInputs = { url = "https://example.com/",
		login = { user = "somebody", password = "something" } },
	errorCodes = { "STEP_EXECUTION_FAILED" },
}

local function field(name)
	return { mode = "selector", selector = "input[name=" .. name .. "]" }
end

local function fill(tab, name, value)
	local done, err = tab:fill(field(name), value)

	if not done then
		error(err, 0)
	end
	return done
end

local function shown(value)
	return type(value) .. " " .. tostring(value)
end

function template.run(ctx)
	local login = ctx.inputs.login
	local tab = ctx:tab()
	local said, filled = {}, {}

	ctx:total(1)
	ctx:collect { part = 0, kind = "extraction", mime = "text/html",
		name = "said.html", prefix = "<p>", separator = "", suffix = "" }
	ctx:step("fill", function()
		local nav, err = tab:navigate(ctx.inputs.url)

		if not nav then
			error(err, 0)
		end
		filled[1] = fill(tab, "user", login.user)
		filled[2] = fill(tab, "password", login.password)
		if login.pin then
			filled[3] = fill(tab, "pin", login.pin)
		end
		local sent, refused = tab:submit(field("password"))
		if not sent then
			error(refused, 0)
		end
		said.sent = sent
		said.info = tab:info()
		said.text = tab:eval("() => document.body.innerText")
		said.html = tab:eval("() => document.body.innerHTML")
		said.number = tab:eval("() => Number(document.body.dataset.pin)")
		said.cut = said.text:sub(1, 40)
		return { address = said.info.url }
	end)
	ctx:warn("the page is " .. said.info.url)
	ctx:progress { done = 0, total = 1, message = said.text }
	ctx:artifact { kind = "file_artifact", mime = "application/json",
		name = "said.json", data = said }
	ctx:artifact { kind = "file_artifact", mime = "text/plain", name = "said.txt",
		data = said.info.url .. "\n" .. ("x"):rep(59990) .. said.text }
	ctx:item { index = 1, key = said.info.url, ok = true,
		record = { url = said.info.url, text = said.text,
			success = true }, parts = { [0] = said.html } }
	ctx:phase("retrying")
	if ctx.inputs.how == "fail" then
		error({ code = "STEP_EXECUTION_FAILED",
			message = said.info.url .. " said: " .. said.text }, 0)
	elseif ctx.inputs.how == "hang" then
		tab:wait { type = "selector", value = "#never",
			timeoutMs = 110000 }
	end
	said.filled = filled
	said.login = { user = shown(login.user),
		password = shown(login.password), pin = shown(login.pin) }
	return said
end

return template
