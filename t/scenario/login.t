#!/usr/bin/perl
# login_keep_session with the real programs and the real browser: logins of all
# shapes, what is said when one cannot be known to have worked, and later runs
# that are signed in.
use strict;
use warnings;
use utf8;
use BrowserTask::Apps;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $json = JSON::PP->new->utf8->canonical;
my $apps = BrowserTask::Apps->new($ENV{srcdir} // '.', sub { routes() });
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my $password = join '', map { ('a' .. 'z', 0 .. 9)[ rand 36 ] } 1 .. 20;
my %right = (username => 'ada', password => "$password-ada");
my %wrong = (username => 'ada', password => "$password-eve");
my $member = { type => 'urlContains', value => '/account/member' };
my @seen;

# inputs beside the address; session => id of one to borrow
sub login {
	my ($path, %more) = @_;
	my $session = delete $more{session};
	my $s = $c->call('run.submit', { templateId => 'login_keep_session',
		inputs => { startUrl => $site->url($path),
			credentials => \%right, %more },
		$session ? (sessionId => $session) : (),
		options => { mode => 'async' } });
	my $r = $s->{errorCode} ? $s : ended($c, $s->{runId});
	is($r->{output}{task_type}, 'login_keep_session', "$path: has ended")
	    or diag explain $r;
	result_fits($c, $r) if $r->{result};
	push @seen, $json->encode($r);
	return $r;
}

# A later run of the session: what the members' page says.
sub member {
	my ($session) = @_;
	my $s = $c->call('run.submit', { templateId => 'batch_extract_pages',
		inputs => { urls => [ $site->url('/account/member') ] },
		sessionId => $session, options => { mode => 'async' } });
	my $r = $s->{errorCode} ? $s : ended($c, $s->{runId});
	return $r->{result}{items}[0]{title} // explain $r;
}

sub fields { return fields => { mode => @_ } }

# path, inputs beside the credentials
my @good = (
	[ '/try/login' ],
	[ '/try/login', fields('selector', usernameSelector => '#u',
		passwordSelector => '#p',
		submitSelector => '[method=post] [type=submit]'),
		successIndicator => $member ],
	[ '/try/login', fields('semantic', usernameQuery => 'user name',
		passwordQuery => 'password', submitQuery => 'sign in') ],
	[ '/try/login-zh' ],
	[ '/try/login-zh', fields('semantic', usernameQuery => '用户名',
		passwordQuery => '密码', submitQuery => '登录') ],
	[ '/try/login-bare', credentials => { username => 'ada@example.org',
		password => "$password-ada\@example.org" } ],
	[ '/try/login-strict', successIndicator => { type => 'textIncludes',
		value => 'Signed in as' } ],
	[ '/try/login-steps' ],
	[ '/try/login-script', successIndicator => $member ],
	[ '/try/login-reveal', successIndicator => $member ],
	[ '/try/login-get' ],
);

for my $row (@good) {
	my ($path, %more) = @$row;
	my $how = $more{fields} ? $more{fields}{mode} : 'by itself';
	subtest "$path, $how" => sub {
		my $r = login($path, %more);
		my $res = $r->{result};

		is($r->{status}, 'succeeded', 'succeeds')
		    or diag explain $r->{error};
		is($res->{loginState}, 'authenticated', 'authenticated')
		    or diag explain $r;
		ok($res->{success}, 'is successful');
		is($res->{sessionId}, $r->{sessionId}, 'names its session');
		is($res->{finalUrl}, $site->url('/account/member'),
			'where it ended');
		is($res->{title}, 'Your account', 'and the title');
		cmp_ok($res->{cookiesSaved}, '>=', 1, 'cookies');
		is_deeply($r->{progress}, { doneSteps => 5, totalSteps => 5 },
			'five steps');
		is(member($res->{sessionId}), 'Your account',
			'the next run is signed in')
		    if $path =~ /strict|script|login-zh/ && !$more{fields};
	};
}

subtest 'what is not known' => sub {
	my $r = login('/try/login', credentials => \%wrong);
	my $res = $r->{result};

	is($r->{status}, 'succeeded', 'a wrong password is no failed run')
	    or diag explain $r->{error};
	is($res->{loginState}, 'unknown', 'but unknown');
	ok(!$res->{success}, 'and no success');
	is($res->{finalUrl}, $site->url('/try/login-wrong'), 'where it ended');
	like("@{ $r->{warnings} }", qr/still asks for a password/, 'warns');
	my $row = artifact_of($r, 'screenshot');
	is($row->{mime_type} // $row->{mime}, 'image/png', 'a screenshot')
	    or diag explain $row;
	$r = login('/try/login-script', credentials => \%wrong);
	is($r->{result}{loginState}, 'unknown', 'wrong, by script');
	$r = login('/try/login', successIndicator => { type => 'selector',
		value => '#no-such-thing', timeoutMs => 300 });
	is($r->{result}{loginState}, 'unknown', 'a marker that is not there');
	ok(artifact_of($r, 'screenshot'), 'a screenshot, too');
};

subtest 'signed in already' => sub {
	my $r = login('/try/login');
	my $session = $r->{result}{sessionId};

	$r = login('/account/member', session => $session,
		successIndicator => { type => 'textIncludes',
			value => 'Signed in as' });
	is($r->{result}{loginState}, 'authenticated', 'says so')
	    or diag explain $r;
	like("@{ $r->{warnings} }", qr/signed in already/, 'and warns');
	is($r->{sessionId}, $session, 'the same session');
};

subtest 'fields that are not there' => sub {
	my $r = login('/try/login', fields('selector',
		usernameSelector => '#u', passwordSelector => '#p',
		submitSelector => '#no-such-button'));
	error_is($r->{error}, 'TPL_LOGIN_FIELD_NOT_FOUND',
		'TPL_LOGIN_FIELD_NOT_FOUND', 'a button');
	is($r->{error}{details}{failedStep}, 'submit', 'in its step');
	like($r->{error}{message}, qr/button was not found.*no-such-button/,
		'in words');
	my $run = $c->run('login_keep_session', {
		startUrl => $site->url('/try/login'),
		credentials => { username => 'ada' } });
	is($run->{errorCode}, 'INVALID_PARAMETER', 'refused: no password');
	unlike($json->encode($run), qr/ada/, 'without naming what was given');
};

# Pages of applications: what they ask after a password, and what they say to a
# wrong one. The right password ends with "right".
sub with_error {
	my ($file, $html) = @_;
	open my $in, '<:encoding(UTF-8)',
	    ($ENV{srcdir} // '.') . "/t/data/apps/$file" or die "$file: $!\n";
	local $/;
	(my $page = <$in>) =~ s/<!--error-->/$html/;
	return $page;
}

# A form that answers with $bad, or leads to $to with a cookie.
sub app {
	my ($field, $to, $bad) = @_;
	return sub {
		my ($req) = @_;
		return ref $bad ? @$bad : (200, $bad)
		    if ($req->{form}{$field} // '') !~ /right$/;
		return (302, '', { Location => $to,
			'Set-Cookie' => "session=@{[ rand ]}; Path=/; HttpOnly" });
	};
}

sub routes {
    return (
	'POST /wordpress' => app('pwd', '/wordpress-admin',
		with_error('wordpress.html', '<div id="login_error" class="notice '
			. 'notice-error"><p><strong>Error:</strong> The password '
			. 'you entered for the username <strong>ada</strong> is '
			. 'incorrect. <a href="/l">Lost your password?</a></p>'
			. '</div>')),
	'POST /phpmyadmin' => app('pma_password', '/phpmyadmin-home',
		with_error('phpmyadmin.html', '<div class="alert alert-danger" '
			. 'role="alert">Cannot log in to the MySQL server</div>'
			. '<div class="alert alert-danger" role="alert">'
			. 'mysqli::real_connect(): (HY000/1045): Access denied '
			. 'for user</div>')),
	'POST /roundcube' => app('_pass', '/roundcube-mail', [ 401,
		with_error('roundcube.html', '<div class="ui alert '
			. 'alert-warning boxwarning" role="alert"><span>Login '
			. 'failed.</span></div>') ]),
	'POST /django' => app('password', '/django-admin',
		with_error('django.html', '<p class="errornote">Please enter the '
			. 'correct username and password for a staff account. '
			. 'Note that both fields may be case-sensitive.</p>')),
	'GET /wordpress-code' => [ 200, with_error('wordpress.html', '')
		=~ s{action="/wordpress"}{action="/wordpress-code"}r ],
	'POST /wordpress-code' => app('pwd', '/twofactor', ''),
	'GET /django-boxes' => [ 200, with_error('django.html', '')
		=~ s{action="/django"}{action="/django-boxes"}r ],
	'POST /django-boxes' => app('password', '/sixboxes', ''),
	'GET /django-locked' => [ 200, with_error('django.html', '')
		=~ s{action="/django"}{action="/django-locked"}r ],
	'POST /django-locked' => app('password', '/errorpage.html', ''),
	'GET /django-401' => [ 200, with_error('django.html', '')
		=~ s{action="/django"}{action="/django-401"}r ],
	'POST /django-401' => sub { (401, 'plain401.html',
		{ 'Set-Cookie' => 'session=x; HttpOnly' }) },
	'GET /django-nocookie' => [ 200, with_error('django.html', '')
		=~ s{action="/django"}{action="/django-nocookie"}r ],
	'POST /django-nocookie' => [ 302, '', { Location => '/django-admin' } ],
	'POST /pin' => app('pw', '/django-admin', [ 200, 'pin.html' ]),
	'GET /errorpage.html' => [ 200, 'errorpage.html' ],
    );
}

# path, right?, state, in the warnings, in a message of the result
my @apps = (
	[ '/wordpress', 1, 'authenticated' ],
	[ '/phpmyadmin', 1, 'authenticated' ],
	[ '/roundcube', 1, 'authenticated' ],
	[ '/django', 1, 'authenticated' ],
	[ '/spa', 1, 'authenticated' ],
	[ '/spa?late=3000', 1, 'authenticated' ],
	[ '/wordpress', 0, 'unknown', qr/is incorrect.*asks for a password/,
		qr/you entered for the username .* is incorrect/ ],
	[ '/phpmyadmin', 0, 'unknown', qr/Cannot log in/, qr/Cannot log in/ ],
	[ '/roundcube', 0, 'unknown', qr/HTTP 401.*Login failed/,
		qr/^Login failed\.$/ ],
	[ '/django', 0, 'unknown', qr/enter the correct/, qr/staff account/ ],
	[ '/spa', 0, 'unknown', qr/did not match/, qr/did not match/ ],
	[ '/spa?late=3000', 0, 'unknown', qr/did not match/, qr/did not match/ ],
	[ '/spa?late=3000&gone', 0, 'unknown', qr/nothing on the page shows/ ],
	[ '/wordpress-code', 1, 'needs_code', qr/Authentication Code/ ],
	[ '/django-boxes', 1, 'needs_code', qr/Ziffer/ ],
	[ '/django-locked', 1, 'unknown', qr/nothing on the page shows/ ],
	[ '/django-401', 1, 'unknown', qr/HTTP 401/, qr/^401 / ],
	[ '/django-nocookie', 1, 'unknown', qr/no cookie of a session/ ],
);

sub app_login {
	my ($path, $password, $user, %more) = @_;
	my $r = task($c, 'login_keep_session', { startUrl => $apps->url($path),
		credentials => { password => $password,
			defined $user ? (username => $user) : () }, %more });
	is($r->{status}, 'succeeded', "$path: has ended")
	    or diag explain $r->{error};
	result_fits($c, $r) if $r->{result};
	return $r;
}

for my $row (@apps) {
	my ($path, $right, $state, $warning, $message) = @$row;

	subtest "$path, " . ($right ? 'right' : 'wrong') . ' password' => sub {
		my $r = app_login($path, $password
			. ($right ? '-right' : '-no'), 'ada@example.org');
		my $res = $r->{result};
		my $good = $state eq 'authenticated';

		is($res->{loginState}, $state, $state) or diag explain $r;
		is(!!$res->{success}, $good, 'success, likewise');
		is($r->{progress}{doneSteps}, $good ? 5 : 4,
			'as many units done') or diag explain $r->{progress};
		like("@{ $r->{warnings} }", $warning, 'says why') if $warning;
		like(join('|', @{ $res->{messages} // [] }), $message,
			"the page's own words") if $message;
		ok(!$good || !$res->{messages}, 'no message where it worked');
		ok($good || artifact_of($r, 'screenshot'), 'a screenshot');
		is($res->{codeField}{locator}{selector}, '#authcode',
			'where the code goes') if $path eq '/wordpress-code';
	};
}

subtest 'a code is given in the session' => sub {
	my $r = app_login('/wordpress-code', "$password-right", 'ada');
	my $s = $c->call('run.submit', { templateId => 'submit_and_verify',
		sessionId => $r->{sessionId}, options => { mode => 'async' },
		inputs => { startUrl => $r->{result}{finalUrl},
			fields => [ { name => 'code', value => '123456',
				locator => $r->{result}{codeField}{locator} } ] } });
	ended($c, $s->{runId});
	is((grep { m{^POST /twofactor authcode=123456} } $apps->posts), 1,
		'and sent');
};

subtest 'a password only' => sub {
	my $r = app_login('/pin', "$password-right");
	is($r->{result}{loginState}, 'authenticated', 'is enough')
	    or diag explain $r;
};

subtest 'a condition of the caller' => sub {
	my $r = app_login('/django-nocookie', "$password-right", 'ada',
		successIndicator => { type => 'textIncludes',
			value => 'Site administration' });
	is($r->{result}{loginState}, 'authenticated', 'that is met decides');
	$r = app_login('/wordpress-code', "$password-right", 'ada',
		successIndicator => { type => 'textIncludes',
			value => 'Dashboard', timeoutMs => 500 });
	is($r->{result}{loginState}, 'needs_code', 'a code is asked for');
};

subtest 'a field that is missing' => sub {
	my ($seconds, $r) = timed(sub {
		task($c, 'login_keep_session', {
			startUrl => $apps->url('/errorpage'),
			credentials => { username => 'a', password => 'b' } });
	});
	error_is($r->{error}, 'TPL_LOGIN_FIELD_NOT_FOUND',
		'TPL_LOGIN_FIELD_NOT_FOUND', 'is an error');
	my ($step) = grep { !$_->{ok} } @{ $r->{output}{steps} };
	cmp_ok($step->{duration_ms}, '<', 16000, 'waited for once')
	    or diag explain $r->{output}{steps};
};

# Nowhere: the password in answers, events, artifacts, log or store.
subtest 'secrets' => sub {
	unlike("@seen", qr/\Q$password\E/, 'not in answers');
	unlike($i->log, qr/\Q$password\E/, 'not in the log');
	my ($runs) = $c->call('run.list', { limit => 1000 });
	for my $run (@{ $runs->{runs} }) {
		my $e = $c->call('run.events', { runId => $run->{runId},
			afterSeq => 0 });
		unlike($json->encode($e), qr/\Q$password\E/,
			"not in the events of $run->{runId}");
	}
	isnt(system('grep', '-rqsa', $password, $i->state_dir), 0,
		'not below the state directory');
};

is($i->stop, 0, 'stops');
is(left(60, $site->{pid}, $apps->{pid}), '', 'nothing is left');
$site->stop;
is($apps->stop, 0, 'the applications, too');
done_testing();
