#!/usr/bin/perl
# login_keep_session with the real programs and the real browser: logins of all
# shapes, what is said when one cannot be known to have worked, and later runs
# that are signed in.
use strict;
use warnings;
use utf8;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $json = JSON::PP->new->utf8->canonical;
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
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
